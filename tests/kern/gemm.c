/* Matrix products of every kernel set: against double (in bfloat16: of rounded
 * factors), at odd shapes; from two threads at once; and that an element has
 * the same bits wherever it lies, in a product of any size. */
#include "base/pool.h"
#include "base/rng.h"
#include "kern/bf16.h"
#include "kern/kern.h"
#include "../lib/emulated.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { MAX = 320 };

static float a[MAX * MAX], b[MAX * MAX], c[MAX * MAX], was[MAX * MAX];

/* op: 0 nt, 1 nn, 2 tn */
static double
one(int op, size_t m, size_t n, size_t k, int add)
{
    const size_t lda = (op == 2 ? m : k) + 3, ldb = (op == 0 ? k : n) + 1;
    const size_t ldc = n + 2;
    double w = 0.0;

    memcpy(c, was, sizeof c);
    (op == 0          ? kern.gemm_nt
            : op == 1 ? kern.gemm_nn
                      : kern.gemm_tn)(m, n, k, a, lda, b, ldb, add, c, ldc);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < ldc; j++) {
            double s = add || j >= n ? was[i * ldc + j] : 0.0, e;

            for (size_t l = 0; l < k && j < n; l++)
                s += (double)(op == 2 ? a[l * lda + i] : a[i * lda + l]) *
                    (op == 0 ? b[j * ldb + l] : b[l * ldb + j]);
            e = fabs(c[i * ldc + j] - s);
            w = e <= w ? w : isnan(e) ? INFINITY : e;
            if (j >= n && c[i * ldc + j] != was[i * ldc + j])
                w = INFINITY; /* wrote outside */
        }
    }
    return w;
}

/* The error of gemm_double, with factors in fp32 or double. */
static double
one_double(int op, size_t m, size_t n, size_t k)
{
    static double wide[MAX * MAX], sum[MAX * MAX];
    const size_t lda = (op == 2 ? m : k) + 3, ldb = (op == 0 ? k : n) + 1;
    const struct factor x = { k % 2 ? a : NULL, k % 2 ? NULL : wide,
        op == 2 ? 1 : lda, op == 2 ? lda : 1 };
    const struct factor y = { b, NULL, op == 0 ? ldb : 1, op == 0 ? 1 : ldb };
    const size_t ldc = n + 2;
    double w = 0.0;

    for (size_t i = 0; i < MAX * MAX; i++) {
        wide[i] = a[i];
        sum[i] = was[i];
    }
    kern.gemm_double(m, n, k, x, y, sum, ldc);
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < ldc; j++) {
            double s = was[i * ldc + j], e;

            for (size_t l = 0; l < k && j < n; l++)
                s += (double)a[i * x.i_step + l * x.l_step] *
                    b[j * y.i_step + l * y.l_step];
            e = fabs(sum[i * ldc + j] - s);
            w = e <= w ? w : isnan(e) ? INFINITY : e;
            if (j >= n && e > 0.0)
                w = INFINITY; /* wrote outside */
        }
    }
    return w;
}

/* Does a deep product have the bits of the sum of its pieces? */
static int
same_pieces(int op, size_t k)
{
    enum { M = 20, N = 60, MOST = 2400 };
    static float x[N * MOST], y[N * MOST], whole[M * N], pieces[M * N];
    void (*f)(size_t, size_t, size_t, const float *, size_t, const float *,
        size_t, int, float *, size_t) = op == 0 ? kern.gemm_nt
        : op == 1                               ? kern.gemm_nn
                                                : kern.gemm_tn;
    const size_t lx = op == 2 ? M : k, ly = op == 0 ? k : N;

    for (size_t i = 0; i < N * MOST; i++) {
        x[i] = (float)rng_normal(4, i);
        y[i] = (float)rng_normal(5, i);
    }
    f(M, N, k, x, lx, y, ly, GEMM_SET, whole, N);
    for (size_t l = 0; l < k; l += GEMM_DEEP)
        f(M, N, k - l < GEMM_DEEP ? k - l : GEMM_DEEP,
            x + l * (op == 2 ? lx : 1), lx, y + l * (op == 0 ? 1 : ly), ly,
            l > 0, pieces, N);
    return memcmp(whole, pieces, sizeof whole) == 0;
}

struct task {
    float *out;
};

static void
multiply(void *ctx, size_t i, size_t worker)
{
    struct task *t = ctx;

    (void)worker;
    kern.gemm_nt(64, 64, 100, a, 100, b, 100, GEMM_SET, t->out + i * 4096, 64);
}

static void
test_threads(const char *name)
{
    struct pool *p = pool_new(2, NULL);
    struct task t = { malloc(64 * 4096 * sizeof(float)) };
    int same = 1;

    pool_run(p, 64, multiply, &t);
    for (size_t i = 1; i < 64; i++)
        same &= memcmp(t.out, t.out + i * 4096, 4096 * sizeof(float)) == 0;
    ok(same, "%s: products from two threads at once agree", name);
    free(t.out);
    pool_free(p);
}

/* Do m rows from i0 and n columns from j0 of a large product have the same bits
 * when computed alone? */
static int
same_part(int op, size_t k, size_t i0, size_t m, size_t j0, size_t n)
{
    enum { M = 608, N = 200, LD = 640 };
    static float x[LD * LD], y[LD * LD], big[M * N], part[M * N];
    const size_t xi = op == 2 ? 1 : LD, yj = op == 0 ? LD : 1;
    void (*f)(size_t, size_t, size_t, const float *, size_t, const float *,
        size_t, int, float *, size_t) = op == 0 ? kern.gemm_nt
        : op == 1                               ? kern.gemm_nn
                                                : kern.gemm_tn;
    int same = 1;

    for (size_t i = 0; x[1] == 0.0f && i < LD * LD; i++) {
        x[i] = (float)rng_normal(4, i);
        y[i] = (float)rng_normal(5, i);
    }
    for (size_t i = 0; i < M * N; i++)
        big[i] = part[i] = (float)rng_normal(6, i);
    f(M, N, k, x, LD, y, LD, GEMM_ADD, big, N);
    f(m, n, k, x + i0 * xi, LD, y + j0 * yj, LD, GEMM_ADD, part + i0 * N + j0,
        N);
    for (size_t i = i0; i < i0 + m; i++)
        same &=
            memcmp(big + i * N + j0, part + i * N + j0, n * sizeof *big) == 0;
    return same;
}

static void
test_place(const char *name)
{
    static const size_t depth[] = { 1, 64, 288, 289, 600 };
    static const size_t size[] = { 1, 8, 13, 64, 96 };
    int same = 1;

    for (int op = 0; op < 3; op++)
        for (size_t i = 0; i < 125; i += every(7)) {
            const size_t m = size[i % 5], n = size[i / 5 % 5];

            same &= same_part(op, depth[i / 25], rng_u64(7, i) % 500, m,
                rng_u64(8, i) % 100, n);
        }
    ok(same, "%s: bits depend neither on place nor on the product's size",
        name);
    same = 1;
    for (int op = 0; op < 3; op++)
        for (size_t k = 768; k < 2400; k += 177)
            same &= same_pieces(op, k);
    ok(same, "%s: a deep product is the sum of its pieces", name);
}

static void
test_set(const char *name)
{
    static const char *const ops[] = { "nt", "nn", "tn" };
    static const size_t dim[] = { 1, 2, 5, 16, 33, 64, 100, 311 };
    enum { NDIM = sizeof dim / sizeof *dim };

    for (int op = 0; op < 3; op++) {
        double w = 0.0;

        for (size_t i = 0; i < NDIM * NDIM * NDIM; i += every(11))
            w = fmax(w,
                one(op, dim[i % NDIM], dim[i / NDIM % NDIM],
                    dim[i / NDIM / NDIM], (int)(i % 3 == 0)));
        ok(w <= 1.5e-4, "%s gemm_%s (%.2g)", name, ops[op], w);
        w = 0.0;
        for (size_t i = 0; i < NDIM * NDIM * NDIM; i += every(11))
            w = fmax(w,
                one_double(op, dim[i % NDIM], dim[i / NDIM % NDIM],
                    dim[i / NDIM / NDIM]));
        ok(w <= 1e-12, "%s gemm_double as %s (%.2g)", name, ops[op], w);
    }
    test_threads(name);
    test_place(name);
}

int
main(void)
{
    static const char *const isas[] = { "avx512", "avx2", "neon", "ref" };
    static const char *const halves[] = { "avx512bf16", "amx", "bfmmla" };

    for (size_t i = 0; i < MAX * MAX; i++) {
        a[i] = (float)rng_normal(1, i);
        b[i] = (float)rng_normal(2, i);
        was[i] = (float)rng_normal(3, i);
    }
    for (size_t s = 0; s < 4; s++) {
        const char *why = kern_force(isas[s]);

        if (why != NULL)
            printf("# %s: %s\n", isas[s], why);
        else
            test_set(isas[s]);
    }
    for (size_t i = 0; i < MAX * MAX; i++) {
        a[i] = bf16_round(a[i]);
        b[i] = bf16_round(b[i]);
    }
    kern_force(NULL);
    for (size_t s = 0; s < 3; s++) {
        kern_compute(halves[s]);
        if (kern_slow())
            tap_skip(halves[s], "this processor has no such kernels");
        else
            test_set(halves[s]);
    }
    return done_testing();
}
