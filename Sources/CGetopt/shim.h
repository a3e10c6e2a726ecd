// The C library's option parser, which Glibc's own module leaves out.
#pragma once
#include <getopt.h>
