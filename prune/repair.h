/*
 * Repairs layers whose inputs were cut: the remaining weights change so that
 * the cut model's residual stream after the layer is as near as possible to the
 * whole model's.
 *
 * A layer W [N,n] keeps the columns K of its inputs x and loses the columns G.
 * Its new weights W' [N,k] minimise
 *   sum over tokens of |W' x_K - y|^2  +  lambda |W' - W_K|^2
 * With the Hessian H, the sum of x x^T, and C, the sum of y x^T, the minimum is
 * at
 *   W' = W_K + (C_K - W_K H_KK) (H_KK + lambda I)^-1
 * lambda is damp times the mean of the nonzero elements of H_KK's diagonal.
 *
 * y is what the layer should add to the stream: the whole model's stream after
 * the layer, less the cut model's before it.  So the layer also makes up for
 * the errors of the layers before it, and for what is dropped between it and
 * the next layer that writes to the stream.  (That the target of a layer comes
 * from the whole model's inputs, and its own inputs from the changed model, is
 * "asymmetric calibration" in Li et al., arXiv:2504.02692.)  Where a norm
 * follows the layer, or only the Hessian is known, y = W x, and C_K - W_K H_KK
 * is W_G H_GK.
 */
#ifndef PRUNE_REPAIR_H
#define PRUNE_REPAIR_H

#include "calib.h"
#include "cut_model.h"
#include "profile_read.h"
#include "base/err.h"
#include "base/pool.h"

#include <stddef.h>

/* Sums of squares over the inputs.  whole: of y; cut: of W_K x_K - y; repaired:
 * of W' x_K - y. */
struct repaired {
    double whole, cut, repaired;
    double damp; /* damping used */
};

/* y of a layer: C [N,n] and the sum of |y|^2. */
struct repair_aim {
    const double *cross;
    double energy;
};

/*
 * out [N,k] = W' of w [N,n] for the columns keep [k], ascending; h [n,n]: the
 * Hessian, double, symmetric; aim NULL: y = W x.  Sets *r.  If H_KK is not
 * positive definite with damp > 0, damp grows tenfold, up to 1000 times, with a
 * warning that begins with `name`.  -1 (EX_NUM): even then H_KK is not, or h or
 * the error is not finite.  Call lapack_open before.  Bits do not depend on the
 * threads.
 */
int layer_repair(const float *w, size_t N, size_t n, const size_t *keep,
    size_t k, const double *h, const struct repair_aim *aim, double damp,
    struct pool *pool, const char *name, float *out, struct repaired *r,
    struct err *e);

/* Damping on REPAIR_TOKENS tokens or more, and of a profile; on fewer it is in
 * proportion more, as weights that few tokens decide should change less. */
#define REPAIR_DAMP 0.1
enum { REPAIR_ROWS = 64, REPAIR_TOKENS = 1 << 15 };
/* The repair of a model that model_cut has made.  The caller sets the first
 * five fields, and zeros in the others, and calls repair_release when it no
 * longer needs the cut model. */
struct repair {
    const struct model *m;  /* the model before the cut */
    struct model *small;    /* the cut model */
    const struct choice *c; /* the choice that cut it */
    struct pool *pool;
    double damp;             /* NAN: as REPAIR_DAMP says */
    struct repaired o, down; /* sums over layers; each layer's numbers are
                              * divided by its own `whole` first */
    float **made; /* [nmade] weights of down in blocks that keep all channels */
    size_t nmade;
};
/* Is there a layer to repair?  Each o or down that loses some, but not all, of
 * its columns; and down of each block behind the first cut, also of a whole
 * block, unless a norm follows it or the whole block's down has n:m zeros. */
int repair_wanted(const struct model *m, const struct choice *c);
void repair_release(struct repair *r);
/*
 * Repair block after block.  A block's inputs are those that it has once the
 * blocks before it are cut and repaired.  Dies.
 */
void repair_calib(struct repair *r, const struct calib *c);
/* Repair with the Hessians in a profile, which were measured before the cut,
 * and y = W x.  Dies. */
void repair_profile(struct repair *r, const struct profile *p);
/* Note how large the layers' errors are, with and without the repair. */
void repair_note(const struct repair *r);
/* Memory of repair_calib beside the models, in bytes. */
size_t repair_bytes(const struct repair *r, const struct calib *c);

#endif
