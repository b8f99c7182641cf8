/*
 * Weights of a linear layer set to zero so that what it gives changes little.
 *
 * The layer y = W x, W [N,K], is judged on inputs x by H [K,K], the sum of
 * x x^T: replacing W by W' changes its output by tr(E H E^T), E = W - W', the
 * sum of squares over these inputs.
 *
 *   magnitude  the smallest |w|; the rest stays as it is
 *   wanda      the smallest |w| |x_k| of a row, |x_k| = sqrt(H_kk): Sun et al.,
 *              arXiv:2306.11695
 *   obs        the optimal brain surgeon as SparseGPT sweeps it (Frantar and
 *              Alistarh, arXiv:2301.00774): column after column the smallest
 *              w^2 / [H^-1]_kk go, and the columns after them make up for it
 *
 * H, its factor and the sweep are in double: rounding to fp32 there changes
 * which weights go, and from block to block that grows.  Rows are spread over
 * the pool's threads; bits do not depend on how many.
 */
#ifndef PRUNE_OBS_H
#define PRUNE_OBS_H

#include "base/err.h"
#include "base/pool.h"

#include <stddef.h>

/* Columns that the sweep does before it corrects those behind them. */
enum { OBS_BLOCK = 128 };

/* n of each m neighbours in a row stay (m <= OBS_BLOCK divides K), or, where
 * m is 0, this share of the weights goes: obs takes it from OBS_BLOCK columns
 * together, wanda from each row, magnitude from the whole matrix. */
struct pattern {
    size_t n, m;
    double share;
};
/* "2:4", or a share such as "0.5".  -1 (EX_USAGE): neither. */
int pattern_parse(struct pattern *p, const char *text, struct err *e);

enum method { METHOD_OBS, METHOD_WANDA, METHOD_MAGNITUDE };

/* H, and what was made of it. */
struct hess {
    size_t n;
    double *a;    /* [n,n] H; from hess_factor on: below the diagonal H, on and
                  * above it U, H^-1 = U^T U */
    double *diag; /* [n] H's */
    size_t dead;  /* zeros among them: channels that nothing came through */
    double damp;  /* what was added to the diagonal, in means of those not 0 */
};
/* a [n,n], symmetric, becomes *h's; `name` tells it in errors.  -1 (EX_NUM): an
 * element is not finite.  hess_release frees both. */
int hess_init(struct hess *h, double *a, size_t n, const char *name,
    struct err *e);
void hess_release(struct hess *h);

/*
 * U of H + damp * mean(diag): in place, in half the operations of inverting H
 * and factoring the inverse, and never forms it: for H = R R^T with R upper
 * triangular, U = R^-1; and R is L of the matrix whose rows and columns are
 * reversed.  Dead channels have the mean on the diagonal.
 * Where that is not positive definite, damp is ten times as much, with a
 * warning, and so on; -1 (EX_NUM): nor at 1000 times.  lapack_open has
 * succeeded.
 */
int hess_factor(struct hess *h, double damp, const char *name, struct err *e);

/* W [N,n] by h (of magnitude, h may be NULL), in place.  For obs after
 * hess_factor; columns of dead channels become zero there. */
void layer_sparsify(float *W, size_t N, size_t n, const struct hess *h,
    enum method method, const struct pattern *p, struct pool *pool);
/* tr(E H E^T), E [N,h->n]; before hess_factor or after it. */
double layer_energy(const float *E, size_t N, const struct hess *h,
    struct pool *pool);

#endif
