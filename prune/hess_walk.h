/*
 * Calibration rows on their way through a model, block by block, and the
 * Hessians of each block's inputs.
 */
#ifndef PRUNE_HESS_WALK_H
#define PRUNE_HESS_WALK_H

#include "calib.h"
#include "hessian.h"

/* Blocks of m behind and before the one that the walk is at may be replaced. */
struct hess_walk {
    const struct model *m;
    const struct calib *c;
    struct pool *pool;
    struct fwd *f;
    size_t chunk;          /* rows at a time */
    float *x;              /* [R,T,d] inputs of the block */
    float *y;              /* [chunk,T,d] outputs of the block */
    double *H[FWD_INPUTS]; /* [n,n] of the caller; NULL: not wanted */
    double seconds, cpu;   /* that Hessians took */
};
void hess_walk_init(struct hess_walk *w, const struct model *m,
    const struct calib *c, struct pool *pool);
void hess_walk_release(struct hess_walk *w);
/* Memory without H and without the struct fwd. */
size_t hess_walk_bytes(const struct model *m, const struct calib *c);
/* x = the input of block 0. */
void hess_walk_begin(struct hess_walk *w);
/* Add the Hessians of block i's inputs to H; x stays. */
void hess_walk_look(struct hess_walk *w, size_t i);
/* x = the output of block i. */
void hess_walk_on(struct hess_walk *w, size_t i);

#endif
