/* The Hessian of rows without padding. */
#ifndef TESTS_LIB_HESS_ADD_H
#define TESTS_LIB_HESS_ADD_H

#include "base/mem.h"
#include "prune/hessian.h"

#include <stdlib.h>

/* h += x^T x for t rows x [t,n] with stride ld. */
static inline void
hess_add(struct pool *pool, struct hess_sum h, size_t n, const float *x,
    size_t t, size_t ld)
{
    uint32_t *first = xcalloc(t, sizeof *first);
    const struct rows r = { .B = 1, .T = t, .first = first };
    const struct fwd_tapped tapped = { .r = &r,
        .Tp = t,
        .n = n,
        .ld = ld,
        .x = x };

    hess_tap(pool, h, &tapped);
    free(first);
}

#endif
