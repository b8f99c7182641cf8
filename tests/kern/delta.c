/* The gated delta rule, for each set of kernels: a text against the definition
 * in double, gradients against central differences of the definition. */
#include "base/mem.h"
#include "base/rng.h"
#include "kern/delta.h"
#include "kern/kern.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { T = 5, N = DELTA_COLS, MOST = 131 };

/* The inputs of a text, and the weights of its outputs in a loss. */
struct text {
    size_t dk;
    float q[T][MOST], k[T][MOST], v[T][N], decay[T], beta[T], dout[T][N];
};

static void
text_random(struct text *x, size_t dk)
{
    size_t at = 0;

    x->dk = dk;
    for (size_t t = 0; t < T; t++) {
        for (size_t i = 0; i < dk; i++) {
            x->q[t][i] = (float)(rng_normal(1, at) / sqrt((double)dk));
            x->k[t][i] = (float)(rng_normal(2, at++) / sqrt((double)dk));
        }
        for (size_t j = 0; j < N; j++) {
            x->v[t][j] = (float)rng_normal(3, at);
            x->dout[t][j] = (float)rng_normal(4, at++);
        }
        x->decay[t] = (float)(0.3 + 0.7 * rng_unit(5, t));
        x->beta[t] = (float)rng_unit(6, t);
    }
}

/* The definition: o [T][N] in double.  Returns the sum of o dout. */
static double
define(const struct text *x, double o[T][N])
{
    double *s = xcalloc(x->dk * N, sizeof *s), loss = 0;

    for (size_t t = 0; t < T; t++)
        for (size_t j = 0; j < N; j++) {
            double seen = 0, out = 0;

            for (size_t i = 0; i < x->dk; i++) {
                s[i * N + j] *= x->decay[t];
                seen += s[i * N + j] * x->k[t][i];
            }
            for (size_t i = 0; i < x->dk; i++) {
                s[i * N + j] +=
                    (double)x->k[t][i] * x->beta[t] * (x->v[t][j] - seen);
                out += s[i * N + j] * x->q[t][i];
            }
            o[t][j] = out;
            loss += out * x->dout[t][j];
        }
    free(s);
    return loss;
}

/* The states before each token and after the last, and the kernel's r and
 * output o of each token. */
struct states {
    float *s; /* [T+1][dk,N] */
    float r[T][N], o[T][N];
};

static void
run_text(const struct text *x, struct states *y)
{
    const size_t size = x->dk * N;

    y->s = xcalloc((T + 1) * size, sizeof *y->s);
    for (size_t t = 0; t < T; t++)
        kern.delta(y->s + (t + 1) * size, y->s + t * size, x->dk, x->q[t],
            x->k[t], x->v[t], x->decay[t], x->beta[t], y->r[t], y->o[t]);
}

struct gradients {
    float q[T][MOST], k[T][MOST], v[T][N], rate[T][2];
};

static void
run_back(const struct text *x, const struct states *y, struct gradients *g)
{
    const size_t size = x->dk * N;
    float *ds = xcalloc(size, sizeof *ds);

    memset(g, 0, sizeof *g);
    for (size_t t = T; t-- > 0;)
        kern.delta_bwd(ds, y->s + t * size, x->dk, x->q[t], x->k[t], y->r[t],
            x->decay[t], x->beta[t], x->dout[t], g->q[t], g->k[t], g->v[t],
            g->rate[t]);
    free(ds);
}

/* The central difference of the loss with respect to *at. */
static double
slope(struct text *x, float *at)
{
    const float was = *at;
    double o[T][N], up, down, wide;

    *at = was + 1e-4f;
    wide = *at;
    up = define(x, o);
    *at = was - 1e-4f;
    wide -= *at;
    down = define(x, o);
    *at = was;
    return (up - down) / wide;
}

static double
off_slopes(struct text *x, const struct gradients *g, size_t t)
{
    double off = 0;

    for (size_t i = 0; i < x->dk; i++) {
        off = farther(off, fabs(g->q[t][i] - slope(x, &x->q[t][i])));
        off = farther(off, fabs(g->k[t][i] - slope(x, &x->k[t][i])));
    }
    for (size_t j = 0; j < N; j++)
        off = farther(off, fabs(g->v[t][j] - slope(x, &x->v[t][j])));
    off = farther(off, fabs(g->rate[t][0] - slope(x, &x->decay[t])));
    return farther(off, fabs(g->rate[t][1] - slope(x, &x->beta[t])));
}

static void
test_definition(const char *set, size_t dk)
{
    static struct text x;
    static struct gradients g;
    struct states y;
    double o[T][N], off = 0;

    text_random(&x, dk);
    define(&x, o);
    run_text(&x, &y);
    for (size_t t = 0; t < T; t++)
        off = farther(off, farthest(y.o[t], o[t], N));
    ok(off <= 2e-6,
        "%s: outputs of heads of %zu are those of the definition "
        "(%.1e)",
        set, dk, off);
    run_back(&x, &y, &g);
    off = 0;
    for (size_t t = 0; t < T; t++)
        off = farther(off, off_slopes(&x, &g, t));
    ok(off <= 2e-5,
        "%s: gradients of heads of %zu are slopes of the definition (%.1e)",
        set, dk, off);
    free(y.s);
}

/* Two tokens of heads of width 2.  transformers 5.24 computed `want` in double
 * (torch_recurrent_gated_delta_rule with use_qk_l2norm_in_kernel). */
static void
test_example(const char *set)
{
    const double root = sqrt(2.0), q0[] = { 1, 2 }, k0[] = { 2, 1 };
    const double want[2][2] = { { 0.2828427, -0.2828427 },
        { 0.8796410, 0.2453582 } };
    float s[2 * N] = { 0 }, q[2], k[2], v[N] = { 1, -1 }, r[N], o[N];

    for (size_t i = 0; i < 2; i++) {
        q[i] = (float)(q0[i] / sqrt(5.0) / root);
        k[i] = (float)(k0[i] / sqrt(5.0));
    }
    kern.delta(s, s, 2, q, k, v, (float)exp(-0.2), 0.5f, r, o);
    ok(near(o[0], want[0][0], 1e-6, 0) && near(o[1], want[0][1], 1e-6, 0),
        "%s: the first of two tokens has transformers' output", set);
    q[0] = 0.0f;
    q[1] = (float)(1 / root);
    k[0] = k[1] = (float)(1 / root);
    v[0] = 2.0f;
    v[1] = 0.5f;
    kern.delta(s, s, 2, q, k, v, (float)exp(-1.0), 0.9f, r, o);
    ok(near(o[0], want[1][0], 1e-6, 0) && near(o[1], want[1][1], 1e-6, 0),
        "%s: the second of two tokens has transformers' output", set);
}

int
main(void)
{
    static const char *const sets[] = { "ref", "avx2", "avx512", "neon" };
    static const size_t sizes[] = { 1, 6, 64, 131 };

    for (size_t i = 0; i < 4; i++) {
        if (kern_force(sets[i]) != NULL) {
            tap_skip(sets[i], "not this processor");
            continue;
        }
        test_example(sets[i]);
        for (size_t k = 0; k < 4; k++)
            test_definition(sets[i], sizes[k]);
    }
    return done_testing();
}
