/* A batch of several tiles: rows of one document, of two and of three, and one
 * of four that ends in padding. */
#ifndef TESTS_LIB_PACKED_H
#define TESTS_LIB_PACKED_H

#include "base/rng.h"

#include <stddef.h>
#include <stdint.h>

enum { PACKED_B = 4, PACKED_T = 600 };

/* ids [B,T] below V by chance; first [B,T] as struct rows has it, padding where
 * a row's documents end early. */
static inline void
packed_rows(uint32_t *ids, uint32_t *first, size_t V)
{
    static const size_t len[PACKED_B][4] = { { 600 }, { 240, 360 },
        { 2, 128, 470 }, { 200, 100, 60, 40 } };

    for (size_t b = 0; b < PACKED_B; b++) {
        size_t t = 0;

        for (size_t k = 0; k < 4; k++) {
            const size_t t0 = t;

            for (; t < t0 + len[b][k]; t++)
                first[b * PACKED_T + t] = (uint32_t)t0;
        }
        for (; t < PACKED_T; t++)
            first[b * PACKED_T + t] = UINT32_MAX;
    }
    for (size_t i = 0; i < PACKED_B * PACKED_T; i++)
        ids[i] = (uint32_t)(rng_u64(8, i) % V);
}

#endif
