// The C library's option parser, which Glibc's own module leaves out, and one-line shims for its global variables,
// which Swift refuses to touch. Callers must hold the lock of the Options module.
#pragma once
#include <getopt.h>

/// Makes the next call start afresh (glibc re-reads everything at 0) and keeps the library from printing.
static inline void postrider_getopt_reset(void) { optind = 0; opterr = 0; }
/// The argument of the option just returned.
static inline const char *postrider_getopt_argument(void) { return optarg; }
/// The index of the next element to be scanned.
static inline int postrider_getopt_index(void) { return optind; }
/// The value of the option that was refused, or 0.
static inline int postrider_getopt_refused(void) { return optopt; }
