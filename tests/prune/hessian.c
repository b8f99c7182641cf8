/* Hessians against plain sums in double; the number of threads changes no
 * bit. */
#include "prune/hessian.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "../lib/hess_add.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

/* x [t,n], rows ld apart: channels of very different size, some sparse; NaN
 * between the rows, which nobody may read. */
static float *
make(size_t t, size_t n, size_t ld)
{
    float *x = xreallocarray(NULL, t * ld, sizeof *x);

    for (size_t i = 0; i < t * ld; i++) {
        const double u = rng_unit(7, i) - 0.5;

        x[i] = i % ld >= n ? NAN
            : i % ld % 5 == 3 && u < 0.3
            ? 0.0f
            : (float)(u * pow(10.0, (double)(i % ld % 7) - 3.0) + 0.1);
    }
    return x;
}

static double
at(struct hess_sum h, size_t i)
{
    return h.d != NULL ? h.d[i] : (double)h.f[i];
}

enum { IN_FP32, IN_DOUBLE, QUICKLY, KINDS };

static struct hess_sum
new_sum(size_t n, int kind)
{
    return kind != IN_FP32
        ? (struct hess_sum){ .d = xcalloc(n * n, sizeof(double)),
              .quick = kind == QUICKLY }
        : (struct hess_sum){ .f = xcalloc(n * n, sizeof(float)) };
}

static void
free_sum(struct hess_sum h)
{
    free(h.f);
    free(h.d);
}

/* The largest distance of h's upper half from the sum H over the rows k of x
 * with use[k] (NULL: all rows), in units of sqrt(H_ii H_jj). */
static double
off(struct hess_sum h, const float *x, size_t t, size_t n, size_t ld,
    const unsigned char *use)
{
    double *want = xcalloc(n * n, sizeof *want), most = 0.0;

    for (size_t k = 0; k < t; k++)
        for (size_t i = 0; i < n && (use == NULL || use[k]); i++)
            for (size_t j = i; j < n; j++)
                want[i * n + j] += (double)x[k * ld + i] * x[k * ld + j];
    for (size_t i = 0; i < n; i++)
        for (size_t j = i; j < n; j++)
            most = farther(most,
                fabs(at(h, i * n + j) - want[i * n + j]) /
                    (sqrt(want[i * n + i] * want[j * n + j]) + 1e-30));
    free(want);
    return most;
}

static void
test_add(size_t t, size_t n, size_t ld, int kind)
{
    const char *type = kind == IN_FP32 ? "fp32"
        : kind == QUICKLY              ? "quickly"
                                       : "double";
    float *x = make(t, n, ld);
    struct hess_sum h[3];
    size_t lower = 0, differ = 0;

    for (size_t i = 0; i < 3; i++) {
        struct pool *pool = pool_new(i + 1, NULL);

        h[i] = new_sum(n, kind);
        hess_add(pool, h[i], n, x, t / 2, ld);
        hess_add(pool, h[i], n, x + t / 2 * ld, t - t / 2, ld);
        hess_finish(pool, h[i], n);
        pool_free(pool);
    }
    ok(off(h[0], x, t, n, ld, NULL) <= (kind == IN_DOUBLE ? 1e-13 : 1e-6),
        "%s: %zu rows of %zu add up to X^T X", type, t, n);
    for (size_t i = 0; i < n * n; i++) {
        differ += at(h[0], i) != at(h[1], i) || at(h[0], i) != at(h[2], i);
        lower += !(at(h[0], i) == at(h[0], i % n * n + i / n));
    }
    ok(differ == 0, "%s: %zu rows of %zu have the same bits on 1, 2, 3 threads",
        type, t, n);
    ok(lower == 0, "%s: the sum of %zu rows of %zu is symmetric", type, t, n);
    for (size_t i = 0; i < 3; i++)
        free_sum(h[i]);
    free(x);
}

/* c += y^T x, of y [t,m] and x [t,n], on 1 and on 3 threads. */
static void
test_cross(size_t t, size_t m, size_t n, size_t ld)
{
    float *y = make(t, m, m), *x = make(t, n, ld);
    double *c[2], most = 0.0;

    for (int k = 0; k < 2; k++) {
        struct pool *pool = pool_new(k == 0 ? 1 : 3, NULL);

        c[k] = xcalloc(m * n, sizeof **c);
        c[k][m * n - 1] = 0.25;
        hess_cross(pool, c[k], m, y, n, x, ld, t);
        pool_free(pool);
    }
    for (size_t i = 0; i < m * n; i++) {
        double want = i == m * n - 1 ? 0.25 : 0.0, size = fabs(want);

        for (size_t k = 0; k < t; k++) {
            const double p = (double)y[k * m + i / n] * x[k * ld + i % n];

            want += p;
            size += fabs(p);
        }
        most = farther(most, fabs(c[0][i] - want) / (size + 1e-30));
    }
    ok(most <= 1e-6, "%zu rows of %zu and %zu add up to Y^T X (off by %.1e)", t,
        m, n, most);
    ok(memcmp(c[0], c[1], m * n * sizeof **c) == 0,
        "Y^T X of %zu rows of %zu and %zu has the same bits on 1, 3 threads", t,
        m, n);
    free(c[0]);
    free(c[1]);
    free(x);
    free(y);
}

/* Rows of padding are left out or zero: T tokens in rows of Tp. */
static void
test_tap(size_t T, size_t Tp, const char *what, int (*dead)(size_t t))
{
    enum { B = 3, N = 70 };
    struct pool *pool = pool_new(2, NULL);
    uint32_t *first = xcalloc(B * T, sizeof *first);
    unsigned char *use = xcalloc(B * Tp, 1);
    const struct rows r = { B, T, NULL, first };
    float *x = make(B * Tp, N, N);
    const struct hess_sum h = new_sum(N, 0);
    const struct fwd_tapped tapped = { 0, FWD_O, &r, Tp, N, N, x, NULL };

    for (size_t k = 0; k < B * Tp; k++) {
        const size_t b = k / Tp, t = k % Tp;

        if (t < T && dead(b * T + t))
            first[b * T + t] = UINT32_MAX;
        if (t < T && !dead(b * T + t))
            use[k] = 1;
        else
            memset(x + k * N, 0, N * sizeof *x);
    }
    hess_tap(pool, h, &tapped);
    ok(off(h, x, B * Tp, N, N, use) <= 1e-6, "tokens add up with %s", what);
    free(first);
    free(use);
    free(x);
    free_sum(h);
    pool_free(pool);
}

static int
none(size_t t)
{
    (void)t;
    return 0;
}

static int
tail(size_t t)
{
    return t % 130 > 20;
}

static int
every(size_t t)
{
    return t % 3 == 1 || (t > 150 && t < 350);
}

int
main(void)
{
    if (kern_init() != NULL) {
        printf("Bail out! no kernels\n");
        return 1;
    }
    for (int kind = 0; kind < KINDS; kind++) {
        test_add(3, 1, 1, kind);
        test_add(2, 5, 9, kind);
        test_add(900, 67, 80, kind);
        test_add(1700, 97, 97, kind);
        test_add(40, 500, 512, kind);
    }
    test_cross(3, 1, 2, 2);
    test_cross(700, 50, 430, 433);
    test_cross(5, 400, 20, 20);
    test_tap(128, 128, "no padding", none);
    test_tap(130, 192, "rows past T", none);
    test_tap(130, 192, "padding behind", tail);
    test_tap(130, 192, "padding between", every);
    return done_testing();
}
