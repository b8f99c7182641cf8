/*
 * Hessians of linear layers.  If W' replaces W in a layer y = W x, the squared
 * error on tokens X is |(W - W') X^T|^2.  The error's Hessian in each row of W
 * is 2 H,
 *   H = X^T X = sum over tokens of x x^T
 * (Hassibi and Stork, Optimal brain surgeon, NIPS 1992; Frantar and Alistarh,
 * arXiv:2301.00774, section 3).  H is [n,n], row-major.
 */
#ifndef PRUNE_HESSIAN_H
#define PRUNE_HESSIAN_H

#include "base/pool.h"
#include "model/pass/forward.h"

/* Where H is summed up; one pointer is set, the other is NULL.
 * f: fp32, for files.  Products are computed as --compute says; with f32 each
 * call adds an error of at most about 1e-7 of sqrt(H_ii H_jj).
 * d: double, for factoring.  Products of fp32 numbers are exact in it.
 * quick: products of up to 512 tokens are computed as for f, and then added to
 * d, which takes less than half of the time. */
struct hess_sum {
    float *f;
    double *d;
    int quick;
};
/*
 * h += x^T x for the rows x of an input that fwd_tap shows, without padding
 * tokens, on and above the diagonal; elements below it are undefined.  Bits do
 * not depend on the threads.
 */
void hess_tap(struct pool *pool, struct hess_sum h, const struct fwd_tapped *t);
/* c [m,n], double, += y^T x for t rows y [t,m] and x [t,n] with stride ld, as
 * a quick d is summed up. */
void hess_cross(struct pool *pool, double *c, size_t m, const float *y,
    size_t n, const float *x, size_t ld, size_t t);
/* After the last hess_tap: copy the elements above the diagonal below it. */
void hess_finish(struct pool *pool, struct hess_sum h, size_t n);

/* For each input of a block, the matrices that read it: bits of W_... */
extern const unsigned input_readers[FWD_INPUTS];
/* Number of channels of an input of block i; 0: the block has no such input. */
size_t input_width(const struct model *m, size_t i, enum fwd_input input);

#endif
