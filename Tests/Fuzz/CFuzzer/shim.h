// What of libFuzzer a program with its own main calls; it comes with the compiler and has no header.
#pragma once
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerRunDriver(int *count, char ***arguments, int (*feed)(const uint8_t *bytes, size_t count));
