/* Matrix products in plain C.  Every element is summed in order of l. */
#include "kern/gemm.h"
#include "kern/kern.h"

#include <string.h>

/* a(i,l) is a[i*ra + l*ca], b(l,j) is b[l*rb + j*cb].  Sums are in order of l,
 * in fp32 as in the fast versions; when adding they start from c. */
static void
plain_product(size_t m, size_t n, size_t k, const float *a, size_t ra,
    size_t ca, const float *b, size_t rb, size_t cb, int add, float *c,
    size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < n; j++) {
            const float *x = a + i * ra, *y = b + j * cb;
            float s = add ? c[i * ldc + j] : 0.0f;

            for (size_t l = 0; l < k; l++)
                s += x[l * ca] * y[l * rb];
            c[i * ldc + j] = s;
        }
    }
}

void
gemm_nt_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    plain_product(m, n, k, a, lda, 1, b, 1, ldb, add, c, ldc);
}

/* The product with rows of b in the inner loop; each c[i,j] is still summed in
 * order of l. */
static void
rows_product(size_t m, size_t n, size_t k, const float *a, size_t ra, size_t ca,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++) {
        float *restrict ci = c + i * ldc;

        if (!add)
            memset(ci, 0, n * sizeof *ci);
        for (size_t l = 0; l < k; l++) {
            const float x = a[i * ra + l * ca];
            const float *y = b + l * ldb;

            for (size_t j = 0; j < n; j++)
                ci[j] += x * y[j];
        }
    }
}

void
gemm_nn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    rows_product(m, n, k, a, lda, 1, b, ldb, add, c, ldc);
}

void
gemm_tn_ref(size_t m, size_t n, size_t k, const float *a, size_t lda,
    const float *b, size_t ldb, int add, float *c, size_t ldc)
{
    rows_product(m, n, k, a, 1, lda, b, ldb, add, c, ldc);
}

static double
plain_element(const struct factor *x, size_t i, size_t l)
{
    const size_t at = i * x->i_step + l * x->l_step;

    return x->f != NULL ? (double)x->f[at] : x->d[at];
}

void
gemm_double_ref(size_t m, size_t n, size_t k, struct factor a, struct factor b,
    double *c, size_t ldc)
{
    for (size_t i = 0; i < m; i++)
        for (size_t l = 0; l < k; l++) {
            const double x = plain_element(&a, i, l);

            for (size_t j = 0; j < n; j++)
                c[i * ldc + j] += x * plain_element(&b, j, l);
        }
}
