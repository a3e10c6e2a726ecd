// Declarations that Swift's Glibc module lacks: O_PATH, which needs _GNU_SOURCE, and extended attributes.

#pragma once

#include <sys/xattr.h>

// linux/fcntl.h; the same on x86-64 and arm64.
enum { CFileAccess_O_PATH = 010000000 };

