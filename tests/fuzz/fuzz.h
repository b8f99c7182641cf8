/* The function that every fuzz target defines, for libFuzzer or replay.c.  It
 * returns 0, and ends the program where something is wrong. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
