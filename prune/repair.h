/*
 * Repair of layers whose inputs were cut: the other weights of the layer change
 * so that its output stays as near as it can.
 *
 * A layer y = W x, W [N,n], keeps the columns K.  On inputs with the Hessian
 * H = sum of x x^T, the W' [N,k] that minimises
 *   sum |W' x_K - W x|^2 + lambda |W' - W_K|^2
 * is W_K + W_G H_GK (H_KK + lambda I)^-1; G are the cut columns, and lambda is
 * damp times the mean of the elements of H_KK's diagonal that are not zero.
 * Without the second term that is least squares, W H_*K H_KK^-1.
 */
#ifndef PRUNE_REPAIR_H
#define PRUNE_REPAIR_H

#include "calib.h"
#include "cut_model.h"
#include "profile_read.h"
#include "base/err.h"
#include "base/pool.h"

#include <stddef.h>

/* Sums of squares over the inputs of a layer's output: of all of it; of the
 * error when columns are cut; of the error when the others are repaired. */
struct repaired {
    double whole, cut, repaired;
    double damp; /* damping that was used */
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

#define REPAIR_DAMP 0.1
/* A model that model_cut has made, to be repaired.  The caller sets the first
 * five fields, the others are 0. */
struct repair {
    const struct model *m;  /* the model before the cut */
    struct model *small;    /* the cut model */
    const struct choice *c; /* the choice that cut it */
    struct pool *pool;
    double damp;
    struct repaired o, down; /* sums over blocks, as shares of `whole` */
};
/* Does o or down of any block lose some of its columns? */
int repair_wanted(const struct choice *c);
/*
 * Repair block after block, by Hessians of the inputs that a block has when the
 * blocks before it are cut and repaired; dies.
 */
void repair_calib(struct repair *r, const struct calib *c);
/* Repair by the Hessians of a profile, which are of the whole model; dies. */
void repair_profile(struct repair *r, const struct profile *p);
/* Note how large the errors are. */
void repair_tell(const struct repair *r);
/* Memory of repair_calib beside the models, in bytes. */
size_t repair_bytes(const struct repair *r, const struct calib *c);

#endif
