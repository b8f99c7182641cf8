/*
 * Repair of layers whose inputs were cut: the weights that are left make up for
 * those that have gone.
 *
 * A layer y = W x, W [N,n], keeps the columns K.  On inputs with the Hessian
 * H = sum of x x^T, the W' [N,k] that minimises
 *   sum |W' x_K - W x|^2 + lambda |W' - W_K|^2
 * is W_K + W_G H_GK (H_KK + lambda I)^-1, G the columns that have gone, and
 * lambda is damp times the mean of H_KK's diagonal where that is not zero.
 * Without the second term that is least squares, W H_*K H_KK^-1.
 */
#ifndef PRUNE_REPAIR_H
#define PRUNE_REPAIR_H

#include "cut.h"
#include "profile.h"
#include "prune.h"
#include "base/err.h"
#include "base/pool.h"

#include <stddef.h>

/* What became of a layer: sums of squares over the inputs, of what W gives; of
 * what is missing when columns have gone; and when the rest is repaired. */
struct repaired {
    double whole, cut, repaired;
    double damp; /* taken */
};

/*
 * out [N,k] = W' of w [N,n] and h [n,n] (symmetric, double), columns keep [k],
 * ascending.  Where H_KK with damp > 0 is not positive definite, damp is ten
 * times as much, with a warning that begins with `name`, and so on; -1
 * (EX_NUM): nor at 1000 times, or h is not finite.  lapack_open has succeeded.
 * Bits do not depend on the threads.
 */
int layer_repair(const float *w, size_t N, size_t n, const size_t *keep,
    size_t k, const double *h, double damp, struct pool *pool, const char *name,
    float *out, struct repaired *r, struct err *e);

/* A model that model_cut has cut, to be repaired; { 0 } but for the first five.
 */
#define REPAIR_DAMP 0.1
struct repair {
    const struct model *m;  /* before */
    struct model *small;    /* after */
    const struct choice *c; /* how */
    struct pool *pool;
    double damp;
    struct repaired o, down; /* sums over blocks of shares of `whole` */
};
/* Are there layers to repair, o or down that lost some of their columns? */
int repair_wanted(const struct choice *c);
/*
 * Repair them, block after block, by Hessians of what each block reads when
 * those before it are cut and repaired; dies.
 */
void repair_calib(struct repair *r, const struct calib *c);
/* By those of a profile, which are of the whole model; dies. */
void repair_profile(struct repair *r, const struct profile *p);
/* Say how well, as notes. */
void repair_tell(const struct repair *r);
/* Memory of repair_calib beside the models, in bytes. */
size_t repair_bytes(const struct repair *r, const struct calib *c);

#endif
