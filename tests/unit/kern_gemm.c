/* Matrix products of every kernel set against double, at odd shapes; also
 * from two threads at once. */
#include "base/pool.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "../tap.h"

#include <stdlib.h>
#include <string.h>

enum { MAX = 160 };

static float a[MAX * MAX], b[MAX * MAX], c[MAX * MAX], was[MAX * MAX];

/* op: 0 nt, 1 nn, 2 tn */
static double
one(int op, size_t m, size_t n, size_t k, int add)
{
    const size_t lda = (op == 2 ? m : k) + 3, ldb = (op == 0 ? k : n) + 1;
    const size_t ldc = n + 2;
    double w = 0.0;

    memcpy(c, was, sizeof c);
    (op == 0 ? kern.gemm_nt : op == 1 ? kern.gemm_nn : kern.gemm_tn)
        (m, n, k, a, lda, b, ldb, add, c, ldc);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < ldc; j++) {
            double s = add || j >= n ? was[i * ldc + j] : 0.0, e;

            for (size_t l = 0; l < k && j < n; l++)
                s += (double)(op == 2 ? a[l * lda + i] : a[i * lda + l]) *
                    (op == 0 ? b[j * ldb + l] : b[l * ldb + j]);
            e = fabs(c[i * ldc + j] - s);
            w = e <= w ? w : isnan(e) ? INFINITY : e;
            if (j >= n && c[i * ldc + j] != was[i * ldc + j])
                w = INFINITY;       /* wrote outside */
        }
    }
    return w;
}

struct task {
    float *out;
};

static void
multiply(void *ctx, size_t i, size_t worker)
{
    struct task *t = ctx;

    (void)worker;
    kern.gemm_nt(64, 64, 100, a, 100, b, 100, GEMM_SET, t->out + i * 4096,
        64);
}

static void
test_threads(const char *name)
{
    struct pool *p = pool_new(2);
    struct task t = { malloc(64 * 4096 * sizeof(float)) };
    int same = 1;

    pool_run(p, 64, multiply, &t);
    for (size_t i = 1; i < 64; i++)
        same &= memcmp(t.out, t.out + i * 4096, 4096 * sizeof(float)) == 0;
    ok(same, "%s: products from two threads at once agree", name);
    free(t.out);
    pool_free(p);
}

int
main(void)
{
    static const char *const isas[] = { "avx512", "avx2", "ref" };
    static const char *const ops[] = { "nt", "nn", "tn" };
    static const size_t dim[] = { 1, 2, 5, 16, 33, 64, 100, 150 };
    enum { NDIM = sizeof dim / sizeof *dim };

    for (size_t i = 0; i < MAX * MAX; i++) {
        a[i] = (float)rng_normal(1, i);
        b[i] = (float)rng_normal(2, i);
        was[i] = (float)rng_normal(3, i);
    }
    for (size_t s = 0; s < 3; s++) {
        const char *why = kern_force(isas[s]);

        if (why != NULL) {
            printf("# %s: %s\n", isas[s], why);
            continue;
        }
        printf("# %s %s\n", kern_name(), kern_blas());
        for (int op = 0; op < 3; op++) {
            double w = 0.0;

            for (size_t i = 0; i < NDIM * NDIM * NDIM; i++)
                w = fmax(w, one(op, dim[i % NDIM], dim[i / NDIM % NDIM],
                    dim[i / NDIM / NDIM], (int)(i % 3 == 0)));
            ok(w <= 6e-5, "%s gemm_%s (%.2g)", isas[s], ops[op], w);
        }
        test_threads(isas[s]);
    }
    return done_testing();
}
