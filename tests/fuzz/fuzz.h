/* What a fuzz target defines; libFuzzer or replay.c calls it.  It returns 0,
 * and dies where something is wrong. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#endif
