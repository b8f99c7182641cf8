/*
 * Hessians of linear layers.  Of |(W - W') X^T|^2, a sum over tokens of what a
 * layer y = W x gets wrong, each row of W has the same Hessian 2 H,
 *   H = X^T X = sum over tokens of x x^T
 * (Hassibi and Stork, Optimal brain surgeon, NIPS 1992; Frantar and Alistarh,
 * arXiv:2301.00774, section 3).  H is [n,n], row-major.
 */
#ifndef PRUNE_HESSIAN_H
#define PRUNE_HESSIAN_H

#include "prune.h"

/* H in one of two types; the other is NULL.
 * f: fp32, to be written, by the kernel table's products, so in what --compute
 *    says; off by about 1e-7 of sqrt(H_ii H_jj) a call, or less.
 * d: double, to be factored: products of fp32 are exact in it. */
struct hess_sum {
    float *f;
    double *d;
};
/*
 * h += x^T x for t rows x [t,n] with ld >= n: on the diagonal and above it;
 * what is below may change or not.  Bits do not depend on the threads.
 */
void hess_add(struct pool *pool, struct hess_sum h, size_t n, const float *x,
    size_t t, size_t ld);
/* The same for the tokens of what fwd_tap shows, without padding (of which a
 * few rows, zero, may be multiplied). */
void hess_tap(struct pool *pool, struct hess_sum h, const struct fwd_tapped *t);
/* After the last: what is below the diagonal becomes what is above it. */
void hess_finish(struct pool *pool, struct hess_sum h, size_t n);

/*
 * Calibration rows on their way through a model, block by block, and the
 * Hessians of a block's layers.  Blocks of m that the walk is not at may be
 * replaced.
 */
struct hess_walk {
    const struct model *m;
    const struct calib *c;
    struct pool *pool;
    struct fwd *f;
    size_t chunk;          /* rows at a time */
    float *x;              /* [R,T,d] inputs of the block */
    float *y;              /* [chunk,T,d] outputs that nobody wants */
    double *H[FWD_INPUTS]; /* the caller's, [n,n]; NULL: not wanted */
    double seconds, cpu;   /* that Hessians took */
};
void hess_walk_init(struct hess_walk *w, const struct model *m,
    const struct calib *c, struct pool *pool);
void hess_walk_release(struct hess_walk *w);
/* Memory beside H and that of a struct fwd. */
size_t hess_walk_bytes(const struct model *m, const struct calib *c);
/* To the input of block 0. */
void hess_walk_begin(struct hess_walk *w);
/* H, which are zero, of what the layers of block i read; x stays. */
void hess_walk_look(struct hess_walk *w, size_t i);
/* x becomes the output of block i. */
void hess_walk_on(struct hess_walk *w, size_t i);
/* The matrices that read each input: bits of W_... */
extern const unsigned input_readers[FWD_INPUTS];
/* Channels of the inputs of block i; 0: it has none such. */
size_t input_width(const struct model *m, size_t i, enum fwd_input input);

#endif
