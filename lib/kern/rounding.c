/* Rounding to bfloat16; see rounding.h. */
#include "kern/rounding.h"
#include "kern/kern.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { WIDE = 1024 }; /* elements at a time */

void
rounding_bf16(const float *x, size_t n, double *lost, double *whole)
{
    uint16_t half[WIDE];
    float y[WIDE];

    for (size_t i = 0; i < n; i += WIDE) {
        const size_t k = n - i < WIDE ? n - i : WIDE;

        kern.narrow_bf16(half, x + i, k);
        kern.widen_bf16(y, half, k);
        *lost += kern.sqdist(y, x + i, k);
        *whole += kern.sumsq(x + i, k);
    }
}

void
factor_bf16(uint16_t *half, const void *x, size_t n)
{
    const unsigned char *in = x;
    float y[WIDE];

    for (size_t i = 0; i < n; i += WIDE) {
        const size_t k = n - i < WIDE ? n - i : WIDE;

        memcpy(y, in + i * sizeof *y, k * sizeof *y);
        for (size_t j = 0; j < k; j++)
            y[j] = fabsf(y[j]) < FLT_MIN ? copysignf(0.0f, y[j]) : y[j];
        kern.narrow_bf16(half + i, y, k);
    }
}
