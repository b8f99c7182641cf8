/*
 * Repairs layers whose inputs were cut: the remaining weights change so that
 * the layer's output changes as little as possible.
 *
 * A layer y = W x, W [N,n], keeps the columns K and loses the columns G.  The
 * Hessian of its inputs is H = sum of x x^T.  The W' [N,k] that minimises
 *   sum |W' x_K - W x|^2 + lambda |W' - W_K|^2
 * is W_K + W_G H_GK (H_KK + lambda I)^-1.  Here lambda is damp times the mean
 * of the nonzero elements of H_KK's diagonal.  Without the second term W' is
 * the least-squares solution, W H_*K H_KK^-1.
 */
#ifndef PRUNE_REPAIR_H
#define PRUNE_REPAIR_H

#include "calib.h"
#include "cut_model.h"
#include "profile_read.h"
#include "base/err.h"
#include "base/pool.h"

#include <stddef.h>

/* Sums of squares over the inputs. whole: of the layer's output; cut: of the
 * output's error after the cut; repaired: of the output's error after the cut
 * and the repair. */
struct repaired {
    double whole, cut, repaired;
    double damp; /* damping used */
};

/*
 * out [N,k] = W' of w [N,n] for the columns keep [k], ascending; h [n,n]: the
 * Hessian, double, symmetric.  Sets *r.  If H_KK is not positive definite with
 * damp > 0, damp grows tenfold, up to 1000 times, with a warning that begins
 * with `name`.  -1 (EX_NUM): even then H_KK is not, or h or the error is not
 * finite.  Call lapack_open before.  Bits do not depend on the threads.
 */
int layer_repair(const float *w, size_t N, size_t n, const size_t *keep,
    size_t k, const double *h, double damp, struct pool *pool, const char *name,
    float *out, struct repaired *r, struct err *e);

#define REPAIR_DAMP 0.1
enum { REPAIR_ROWS = 64 };
/* The repair of a model that model_cut has made.  The caller sets the first
 * five fields, and zeros in the others. */
struct repair {
    const struct model *m;  /* the model before the cut */
    struct model *small;    /* the cut model */
    const struct choice *c; /* the choice that cut it */
    struct pool *pool;
    double damp;
    struct repaired o, down; /* sums over layers; each layer's numbers are
                              * divided by its own `whole` first */
};
/* Does a layer o or down lose some, but not all, of its columns? */
int repair_wanted(const struct choice *c);
/*
 * Repair block after block.  A block's Hessians come from the inputs that it
 * has once the blocks before it are cut and repaired.  Dies.
 */
void repair_calib(struct repair *r, const struct calib *c);
/* Repair with the Hessians in a profile, which were measured before the cut.
 * Dies. */
void repair_profile(struct repair *r, const struct profile *p);
/* Note how large the layers' errors are, with and without the repair. */
void repair_note(const struct repair *r);
/* Memory of repair_calib beside the models, in bytes. */
size_t repair_bytes(const struct repair *r, const struct calib *c);

#endif
