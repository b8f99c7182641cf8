/* Sparse layers, against PyTorch in double (scripts/oracle/sparse.py). */
#include "prune/lapack.h"
#include "prune/obs.h"
#include "base/mem.h"
#include "base/note.h"
#include "kern/kern.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <stdint.h>

static struct golden g;
static struct pool *pool;
static size_t N, K;
static int warned;

static void
count_warning(const char *msg)
{
    warned += strstr(msg, "not positive definite") != NULL;
}

static void
make_hess(struct hess *h)
{
    struct err e;

    if (hess_init(h, golden_doubles(&g, "h"), K, "golden", &e) < 0 ||
        hess_factor(h, 0.01, "golden", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
}

static float *
difference(const float *a, const float *b)
{
    float *d = xcalloc(N * K, sizeof *d);

    for (size_t i = 0; i < N * K; i++)
        d[i] = a[i] - b[i];
    return d;
}

/* Compare a layer with the oracle: masks, weights and error. */
static void
layer(const struct hess *h, enum method method, const char *pattern)
{
    static const char *const names[] = { "obs", "wanda", "magnitude" };
    const struct st_tensor *want, *error;
    char name[40], of[50];
    float *dense = golden_floats(&g, "w"), *w = golden_floats(&g, "w"), *d;
    size_t differ = 0;
    struct pattern p;
    struct err e;

    snprintf(name, sizeof name, "%s.%s", names[method], pattern);
    snprintf(of, sizeof of, "%s.error", name);
    want = golden_get(&g, name);
    error = golden_get(&g, of);
    ok(pattern_parse(&p, pattern, &e) == 0, "%s: the pattern is read", name);
    layer_sparsify(w, N, K, method == METHOD_MAGNITUDE ? NULL : h, method, &p,
        pool);
    for (size_t i = 0; i < N * K; i++)
        differ += (w[i] == 0.0f) != (golden_at(want, i) == 0.0);
    ok(differ == 0, "%s: the weights of the oracle become zero", name);
    ok(golden_off(w, want) <= 1e-4,
        "%s: the other weights are those of the oracle", name);
    d = difference(dense, w);
    ok(near(layer_energy(d, N, h, pool), golden_at(error, 0), 0.0, 1e-4),
        "%s: the error is that of the oracle", name);
    ok(near(layer_energy(dense, N, h, pool), golden_at(error, 1), 0.0, 1e-4),
        "%s: the energy of the output is that of the oracle", name);
    free(d);
    free(w);
    free(dense);
}

static void
patterns(void)
{
    static const char *const bad[] = { "", "4", "4:4", "2:", ":4", "0:4",
        "2:129", "0", "1", "-0.5", "nan", "2:4x", "+2:4", "2:-4", "0.5x" };
    struct pattern p;
    struct err e;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ok(pattern_parse(&p, bad[i], &e) < 0 && e.code == EX_USAGE,
            "a pattern '%s' is refused", bad[i]);
    ok(pattern_parse(&p, "15:16", &e) == 0 && p.n == 15 && p.m == 16,
        "the pattern 15:16 is read");
}

/* The number of threads changes no bit of weights and error. */
static void
bits(const struct hess *h)
{
    const struct pattern p = { 2, 4, 0 };
    struct err e;
    struct pool *many = pool_new(3, &e);
    float *w = xcalloc(130 * K, sizeof *w), *v = xcalloc(130 * K, sizeof *v);

    for (size_t i = 0; i < 130 * K; i++)
        w[i] = v[i] = (float)((i * 7919 + 13) % 1009) / 500.0f - 1.0f;
    layer_sparsify(w, 130, K, h, METHOD_OBS, &p, pool);
    layer_sparsify(v, 130, K, h, METHOD_OBS, &p, many);
    ok(memcmp(w, v, 130 * K * sizeof *w) == 0,
        "three threads give the same weights");
    ok(layer_energy(w, 130, h, pool) == layer_energy(w, 130, h, many),
        "three threads give the same error");
    pool_free(many);
    free(w);
    free(v);
}

/* Factor the matrix of two rows with a on its diagonal and b beside it. */
static int
factor2(double a, double b, struct hess *h, struct err *e)
{
    const double v[4] = { a, b, b, a };
    double *m = xcalloc(4, sizeof *m);

    memcpy(m, v, sizeof v);
    warned = 0;
    if (hess_init(h, m, 2, "layer x", e) < 0)
        return -1;
    return hess_factor(h, 0.01, "layer x", e);
}

static void
damping(void)
{
    struct hess h;
    struct err e;

    ok(factor2(1.0, 0.5, &h, &e) == 0 && warned == 0 && h.damp == 0.01,
        "a positive definite Hessian takes the damping as it is");
    /* H^-1 = U^T U: U_11 = 1 / sqrt(H_11) */
    ok(near(h.a[3], 1.0 / sqrt(1.01), 0.0, 1e-6),
        "the last element of U is right");
    ok(near(h.a[0], sqrt(1.01 / (1.01 * 1.01 - 0.25)), 0.0, 1e-6),
        "the first element of U is right");
    ok(near(h.a[1], -0.5 / sqrt(1.01 * (1.01 * 1.01 - 0.25)), 0.0, 1e-6),
        "the element above U's diagonal is right");
    ok(h.a[2] == 0.5, "H stays below the diagonal");
    hess_release(&h);
    ok(factor2(1.0, 1.05, &h, &e) == 0 && warned == 1 &&
            near(h.damp, 0.1, 0.0, 1e-12),
        "an indefinite Hessian takes ten times the damping and warns");
    ok(near(h.a[3], 1.0 / sqrt(1.1), 0.0, 1e-6),
        "the factor of more damping is right");
    hess_release(&h);
    ok(factor2(1.0, 12.0, &h, &e) < 0 && e.code == EX_NUM && warned == 3 &&
            strstr(e.msg, "layer x") != NULL,
        "a Hessian that 1000 times do not help is refused by name");
    hess_release(&h);
    ok(factor2(1.0, NAN, &h, &e) < 0 && e.code == EX_NUM, "NaN is refused");
    ok(factor2(0.0, 0.0, &h, &e) == 0 && h.dead == 2,
        "a Hessian of dead channels is factored");
    hess_release(&h);
}

static void
against_lapack(void)
{
    double a[9] = { 4, 0, 0, 2, 5, 0, 1, 3, 6 };

    ok(lapack_potrf(a, 3) == 0 && a[0] == 2.0 && a[3] == 1.0 && a[4] == 2.0,
        "potrf gives the row-major factor of Cholesky");
}

int
main(void)
{
    static const char *const all[] = { "2:4", "4:8", "1:4", "0.5", "0.7" };
    struct hess h;
    struct err e;

    golden_open(&g, "tests/golden/sparse.safetensors");
    N = golden_get(&g, "w")->shape[0];
    K = golden_get(&g, "w")->shape[1];
    note_sink = count_warning;
    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL) {
        printf("Bail out! no kernels or threads\n");
        return 1;
    }
    patterns();
    if (lapack_open(&e) < 0) {
        tap_skip("layers", "no OpenBLAS");
        return done_testing();
    }
    against_lapack();
    damping();
    make_hess(&h);
    ok(h.dead == 1, "one channel is dead");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        for (int m = METHOD_OBS; m <= METHOD_MAGNITUDE; m++)
            layer(&h, (enum method)m, all[i]);
    bits(&h);
    hess_release(&h);
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
