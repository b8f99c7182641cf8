/*
 * Passes calibration rows through a model block by block, and sums up the
 * Hessians of each block's inputs.
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
    double seconds, cpu;   /* wall and CPU seconds spent on Hessians */
};
void hess_walk_init(struct hess_walk *w, const struct model *m,
    const struct calib *c, struct pool *pool);
void hess_walk_release(struct hess_walk *w);
/* Bytes of memory, without H and the struct fwd. */
size_t hess_walk_bytes(const struct model *m, const struct calib *c);
/* Set x to the input of block 0. */
void hess_walk_begin(struct hess_walk *w);
/* Add the Hessians of block i's inputs to H; x does not change. */
void hess_walk_look(struct hess_walk *w, size_t i);
/* Pass x, the input of block i, through the block. */
void hess_walk_on(struct hess_walk *w, size_t i);

#endif
