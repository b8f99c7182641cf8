/*
 * Hessians of linear layers.  Of |(W - W') X^T|^2, a sum over tokens of what a
 * layer y = W x gets wrong, each row of W has the same Hessian 2 H,
 *   H = X^T X = sum over tokens of x x^T
 * (Hassibi and Stork, Optimal brain surgeon, NIPS 1992; Frantar and Alistarh,
 * arXiv:2301.00774, section 3).  H is fp32 [n,n], row-major.
 */
#ifndef PRUNE_HESSIAN_H
#define PRUNE_HESSIAN_H

#include "base/pool.h"
#include "model/forward.h"

#include <stddef.h>

/*
 * h += x^T x for t rows x [t,n] with ld >= n: on the diagonal and above it;
 * what is below may change or not.  The products are the kernel table's, so in
 * what --compute says; their bits do not depend on the threads.  Off by about
 * 1e-7 of sqrt(H_ii H_jj) a call, or less.
 */
void hess_add(struct pool *pool, float *h, size_t n, const float *x, size_t t,
    size_t ld);
/* The same for the tokens of what fwd_tap shows, without padding (of which a
 * few rows, zero, may be multiplied). */
void hess_tap(struct pool *pool, float *h, const struct fwd_tapped *t);
/* After the last: what is below the diagonal becomes what is above it. */
void hess_finish(struct pool *pool, float *h, size_t n);

#endif
