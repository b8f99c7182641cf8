/*
 * Sets weights of a linear layer to zero with little change of its output.
 *
 * H [K,K] is the sum of x x^T over inputs x of the layer y = W x, W [N,K].
 * If W' replaces W, the squared changes of the output for these inputs sum up
 * to tr(E H E^T), E = W - W'.  Three methods choose the weights to remove:
 *
 *   magnitude  the smallest |w|; the other weights stay as they are
 *   wanda      the smallest |w| |x_k| of a row, |x_k| = sqrt(H_kk): Sun et al.,
 *              arXiv:2306.11695
 *   obs        the optimal brain surgeon as swept by SparseGPT (Frantar and
 *              Alistarh, arXiv:2301.00774): column by column the smallest
 *              w^2 / [H^-1]_kk, for which later columns compensate
 *
 * H, its factor and the sweep are in double: errors of fp32 would change which
 * weights are removed, more with each block.  Rows are spread over the pool's
 * threads; bits do not depend on their number.
 */
#ifndef PRUNE_OBS_H
#define PRUNE_OBS_H

#include "base/err.h"
#include "base/pool.h"

#include <stddef.h>

/* Columns that the sweep finishes before it corrects the later ones. */
enum { OBS_BLOCK = 128 };

/* In each row, n of every m consecutive weights stay; m <= OBS_BLOCK divides K.
 * If m is 0, `share` of the weights is removed: by obs from each OBS_BLOCK
 * columns, by wanda from each row, by magnitude from the whole matrix. */
struct pattern {
    size_t n, m;
    double share;
};
/* Parse "2:4", or a share such as "0.5".  -1 (EX_USAGE): it is neither. */
int pattern_parse(struct pattern *p, const char *text, struct err *e);

enum method { METHOD_OBS, METHOD_WANDA, METHOD_MAGNITUDE };

/* A Hessian and its factor. */
struct hess {
    size_t n;
    double *a;    /* [n,n] H.  After hess_factor: H below the diagonal, and on
                   * and above it U with H^-1 = U^T U */
    double *diag; /* [n] diagonal of H */
    size_t dead;  /* number of zeros in diag: of channels that are always 0 */
    double damp;  /* damping that hess_factor has added to the diagonal, as a
                   * share of the mean of diag without zeros */
};
/* Begin with the symmetric matrix a [n,n], of which h takes ownership. `name`
 * names it in errors.  -1 (EX_NUM): an element is not finite, and a is freed.
 * Free with hess_release. */
int hess_init(struct hess *h, double *a, size_t n, const char *name,
    struct err *e);
void hess_release(struct hess *h);

/*
 * Add damp * mean(diag) to H's diagonal, where dead channels first get
 * mean(diag), and compute U in place.  For H = R R^T with R upper triangular,
 * U = R^-1.  R, with its rows and columns in reverse order, is the Cholesky
 * factor L of H in reverse order.  Computing R so takes half the operations of
 * inverting H and factoring the inverse.  If the damped H is not positive
 * definite, damp grows tenfold, with a warning, up to 1000 times; -1 (EX_NUM):
 * even then H is not.  Call lapack_open before.
 */
int hess_factor(struct hess *h, double damp, const char *name, struct err *e);

/* Make W [N,n] sparse, in place.  magnitude: h may be NULL.  obs: call
 * hess_factor before; columns of dead channels become zero. */
void layer_sparsify(float *W, size_t N, size_t n, const struct hess *h,
    enum method method, const struct pattern *p, struct pool *pool);
/* tr(E H E^T), E [N,h->n]; h may be factored or not. */
double layer_energy(const float *E, size_t N, const struct hess *h,
    struct pool *pool);

#endif
