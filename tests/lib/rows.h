/* What tests of the kernels on rows share: lengths of rows, most of them no
 * multiple of a vector, functions that fill rows, and the error of a result. */
#ifndef TESTS_LIB_ROWS_H
#define TESTS_LIB_ROWS_H

#include "base/rng.h"

#include <math.h>
#include <stddef.h>

enum { N = 131 };
static const size_t sizes[] = { 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100, 131 };
enum { NSIZES = sizeof sizes / sizeof *sizes };

/* Normal numbers of standard deviation sd. */
static inline void
fill(float *x, size_t n, uint64_t key, double sd)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(sd * rng_normal(key, i));
}

/* The largest |got - want| / (1e-7 (1 + |want|)); infinite if there is a
 * NaN. */
static inline double
worst(const float *got, const double *want, size_t n)
{
    double w = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double e = fabs(got[i] - want[i]) / (1.0 + fabs(want[i]));

        w = e <= w ? w : isnan(e) ? INFINITY : e;
    }
    return w * 1e7;
}

#endif
