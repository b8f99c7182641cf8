/* Fewer products under an emulator (EMULATOR, see scripts/run_test), which
 * computes a hundred times more slowly than a processor. */
#ifndef TESTS_LIB_EMULATED_H
#define TESTS_LIB_EMULATED_H

#include <stddef.h>
#include <stdlib.h>

/* The step of a loop over cases: n under an emulator, else 1. */
static inline size_t
every(size_t n)
{
    return getenv("EMULATOR") != NULL ? n : 1;
}

#endif
