/*
 * Passes calibration rows through a model block by block, and sums up the
 * Hessians of each block's inputs.
 *
 * A second walk may go through another model of the same width.  The residual
 * stream that it has after a block's attention or MLP says what the layer o or
 * down of the first model should add to its own stream.
 */
#ifndef PRUNE_HESS_WALK_H
#define PRUNE_HESS_WALK_H

#include "calib.h"
#include "hessian.h"

/* The state of a walk.  Between calls the caller may replace blocks of m. */
struct hess_walk {
    const struct model *m;
    const struct calib *c;
    struct pool *pool;
    struct fwd *f;
    size_t chunk;          /* number of rows computed at a time */
    float *x;              /* [R,T,d] input of the present block */
    float *y;              /* [chunk,T,d] output of the present block */
    double *H[FWD_INPUTS]; /* the caller's [n,n] for the Hessian of each input
                            * (n: its width); NULL: it is not summed up */
    int quick;             /* 1: Hessians are summed up quickly (hess_sum) */
    /* For each input x of o and down: the caller's [d,n] for the sum over
     * tokens of y x^T, and its sum of y^2, where y is what the layer should
     * add: `after` [R,T,d] less the stream.  NULL: they are not summed up. */
    double *cross[FWD_INPUTS], energy[FWD_INPUTS];
    const float *after[FWD_INPUTS];
    float *between; /* [R,T,d] the caller's, for the stream between attention
                     * and MLP of the blocks that hess_walk_on passes; or
                     * NULL */
    float *lack;    /* [T,d] y of a row */
    size_t row;     /* the first row of those that are computed */
    double seconds, cpu; /* wall and CPU seconds spent on Hessians */
};
void hess_walk_init(struct hess_walk *w, const struct model *m,
    const struct calib *c, struct pool *pool);
void hess_walk_release(struct hess_walk *w);
/* Bytes of memory, without H, cross, after, between and the struct fwd. */
size_t hess_walk_bytes(const struct model *m, const struct calib *c);
/* Set x to the input of block 0. */
void hess_walk_begin(struct hess_walk *w);
/* Run block i on all rows, and add to H, cross and energy what they are to sum
 * up.  The output is dropped: x stays the input of block i. */
void hess_walk_look(struct hess_walk *w, size_t i);
/* Pass x, the input of block i, through the block. */
void hess_walk_on(struct hess_walk *w, size_t i);

#endif
