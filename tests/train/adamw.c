/* AdamW, clipping and schedules against PyTorch and transformers. */
#include "../lib/golden.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "train/adamw.h"
#include "train/schedule.h"
#include "train/step.h"

#include <math.h>

static struct golden g;

/* Compare a tensor's path through 20 updates by the kernel. */
static void
adamw_path(const char *name, double decay, const char *set)
{
    char key[64];
    float p[35], grad[35], m[35] = { 0 }, v[35] = { 0 };
    const struct st_tensor *start, *gr, *path, *gm, *gv;
    const struct st_tensor *lr = golden_get(&g, "adamw.lr");
    size_t n, wrong = 0;

#define GET(var, what)                                  \
    snprintf(key, sizeof(key), "adamw.%s." what, name), \
        var = golden_get(&g, key)
    GET(start, "start");
    GET(gr, "grad");
    GET(path, "path");
    GET(gm, "m");
    GET(gv, "v");
#undef GET
    n = start->n;
    for (size_t i = 0; i < n; i++)
        p[i] = (float)golden_at(start, i);
    for (size_t t = 1; t <= 20; t++) {
        const double rate = golden_at(lr, t - 1);
        const struct adamw_k k = {
            .scale = 1.0f,
            .decay = (float)(1.0 - rate * decay),
            .beta2 = 0.95f,
            .rest1 = 1.0f - 0.9f,
            .rest2 = 1.0f - 0.95f,
            .step = (float)(rate / (1.0 - pow(0.9, (double)t))),
            .root = (float)(1.0 / sqrt(1.0 - pow(0.95, (double)t))),
            .eps = 1e-8f,
        };

        for (size_t i = 0; i < n; i++)
            grad[i] = (float)golden_at(gr, (t - 1) * n + i);
        loss_kern()->adamw(p, grad, m, v, n, &k);
        for (size_t i = 0; i < n; i++)
            wrong +=
                !near(p[i], golden_at(path, (t - 1) * n + i), 1e-6, 1e-5) ||
                grad[i] != 0.0f;
    }
    for (size_t i = 0; i < n; i++)
        wrong += !near(m[i], golden_at(gm, i), 1e-9, 1e-5) ||
            !near(v[i], golden_at(gv, i), 1e-12, 1e-5);
    ok(wrong == 0, "%s: AdamW, tensor %s, 20 updates", set, name);
}

static void
schedules(void)
{
    static const char *const names[] = { "cosine", "linear", "constant" };
    static const struct {
        const char *end;
        size_t w;
        double floor;
    } v[] = {
        { "", 8, 0.1 },
        { ".cold", 0, 0.1 },
        { ".zero", 8, 0.0 },
    };

    for (size_t s = 0; s < 3; s++)
        for (size_t i = 0; i < 3; i++) {
            char key[64];
            const struct st_tensor *want;
            size_t wrong = 0;

            snprintf(key, sizeof(key), "lr.%s%s", names[s], v[i].end);
            want = golden_get(&g, key);
            for (size_t k = 0; k <= 50; k++)
                wrong += !near(sched_lr((enum sched)s, 3e-4, k, 50, v[i].w,
                                   v[i].floor),
                    golden_at(want, k), 1e-16, 1e-12);
            ok(wrong == 0, "the schedule %s is that of transformers", key);
        }
}

/* The schedules wsd, whose last fifth of 50 steps decays, and invsqrt. */
static void
later_schedules(void)
{
    static const char *const names[] = { "wsd", "invsqrt" };
    struct golden later;

    golden_open(&later, "tests/golden/schedules.safetensors");
    for (int s = 0; s < 2; s++)
        for (int cold = 0; cold < 2; cold++) {
            const struct st_tensor *want;
            size_t wrong = 0;
            char key[64];

            snprintf(key, sizeof(key), "lr.%s%s", names[s],
                cold ? ".cold" : "");
            want = golden_get(&later, key);
            for (size_t k = 0; k <= 50; k++)
                wrong += !near(sched_lr(s == 0 ? SCHED_WSD : SCHED_INVSQRT,
                                   3e-4, k, 50, cold ? 0 : 8, 0.2),
                    golden_at(want, k), 1e-16, 1e-12);
            ok(wrong == 0, "the schedule %s is that of transformers", key);
        }
    golden_close(&later);
}

/* wsd whose fall would begin within warm-up: it begins at the end of warm-up,
 * as transformers' with as many steps of warm-up, 0 stable ones and the rest to
 * decay. */
static void
short_wsd(void)
{
    const double pi = 3.14159265358979323846;
    size_t wrong = 0;

    for (size_t k = 0; k <= 20; k++)
        wrong += !near(sched_lr(SCHED_WSD, 1e-3, k, 20, 10, 0.9),
            k < 10 ? 1e-4 * (double)k
                   : 0.5e-3 * (1.0 + cos(pi * (double)(k - 10) / 10.0)),
            1e-16, 1e-12);
    ok(wrong == 0,
        "wsd that falls from the end of warm-up on reaches the peak");
    ok(near(sched_lr(SCHED_WSD, 1e-3, 19, 20, 30, 0.9), 1e-3 * 19 / 30, 0,
           1e-12),
        "wsd within a longer warm-up only rises");
}

/* adamw_step on a model of two groups with golden gradients: the norm and the
 * clipped gradient are PyTorch's. */
static void
clipping(struct pool *pool)
{
    const struct st_tensor *a = golden_get(&g, "clip.a");
    const struct st_tensor *b = golden_get(&g, "clip.b");
    const struct st_tensor *norm = golden_get(&g, "clip.norm");
    const struct st_tensor *aout = golden_get(&g, "clip.a.out");
    float pa[35], ga[35], pb[9], gb[9], none[1];
    struct group group[3] = {
        { .p = pa, .g = ga, .n = 35 },
        { .p = pb, .g = gb, .n = 9 },
        { .p = none, .g = none, .n = 0 },
    };
    struct tmodel t = { .group = group, .ngroup = 3, .nparam = 44 };
    /* with decay 0, beta1 0 and a large eps the update is nearly lr * g / eps:
     * it shows the clipped gradient g */
    const struct adamw_opt o = { .lr = 1.0,
        .beta1 = 0.0,
        .beta2 = 0.0,
        .eps = 1e6,
        .clip = 1.0 };
    struct err e;

    for (size_t k = 0; k < 7; k++) {
        struct adamw *opt = adamw_new(&t, DT_F32);
        double got;
        size_t wrong = 0;
        const double size = golden_at(norm, k) > 1.0 ? 1.0 : 1e-3;

        for (size_t i = 0; i < 35; i++) {
            ga[i] = (float)golden_at(a, k * 35 + i);
            pa[i] = 0.0f;
        }
        for (size_t i = 0; i < 9; i++) {
            gb[i] = (float)golden_at(b, k * 9 + i);
            pb[i] = 0.0f;
        }
        ok(adamw_step(opt, &t, pool, &o, 1, &got, &e) == 0,
            "clip %zu: a step is made", k);
        wrong += !near(got, golden_at(norm, k), 1e-12, 1e-6);
        for (size_t i = 0; i < 35; i++)
            wrong += !near(-pa[i] * 1e6, golden_at(aout, k * 35 + i),
                1e-6 * size, 1e-4);
        ok(wrong == 0, "clip %zu: norm %g and clipped gradient", k, got);
        adamw_free(opt);
    }
}

static void
not_finite(struct pool *pool)
{
    float p[4] = { 1, 2, 3, 4 }, grad[4] = { 0, NAN, 0, 0 };
    struct group group[3] = { { .p = p, .g = grad, .n = 4 },
        { .p = p, .g = grad, .n = 0 }, { .p = p, .g = grad, .n = 0 } };
    struct tmodel t = { .group = group, .ngroup = 3, .nparam = 4 };
    const struct adamw_opt o = { .lr = 1.0, .eps = 1e-8 };
    struct adamw *opt = adamw_new(&t, DT_F32);
    struct err e = { 0 };
    double norm;

    ok(adamw_step(opt, &t, pool, &o, 1, &norm, &e) < 0 && e.code == EX_NUM,
        "a NaN gradient is refused with EX_NUM");
    ok(p[0] == 1 && p[1] == 2 && p[2] == 3 && p[3] == 4,
        "a NaN gradient changes no parameter");
    grad[1] = INFINITY;
    ok(adamw_step(opt, &t, pool, &o, 1, &norm, &e) < 0,
        "an infinite gradient is refused");
    adamw_free(opt);
}

/* With any betas the first step is lr times the sign of the gradient. */
static void
first_step(struct pool *pool)
{
    static const double beta[] = { 0.0, 0.9, 0.999, 0.9999, 0.999999,
        0.9999999 };

    for (size_t k = 0; k < sizeof beta / sizeof *beta; k++) {
        float p[4] = { 0 }, grad[4] = { 0.5f, -2.0f, 1e-3f, 30.0f };
        struct group group[3] = { { .p = p, .g = grad, .n = 4 },
            { .p = p, .g = grad, .n = 0 }, { .p = p, .g = grad, .n = 0 } };
        struct tmodel t = { .group = group, .ngroup = 3, .nparam = 4 };
        const struct adamw_opt o = { .lr = 0.25,
            .beta1 = beta[k],
            .beta2 = beta[k],
            .eps = 1e-20 };
        struct adamw *opt = adamw_new(&t, DT_F32);
        size_t wrong = 0;
        struct err e;
        double norm;

        wrong += adamw_step(opt, &t, pool, &o, 1, &norm, &e) < 0;
        for (size_t i = 0; i < 4; i++)
            wrong += !near(p[i], i == 1 ? 0.25 : -0.25, 0, 3e-5);
        ok(wrong == 0, "betas of %.9g: the first step is the learning rate",
            beta[k]);
        adamw_free(opt);
    }
}

/* A second moment in bf16 follows steps of 0.1 %; rounded to the nearest, it
 * would stay below 0.3.  Its bits do not depend on the number of threads. */
static void
half_moments(struct pool *pool)
{
    enum { N = 1024, STEPS = 1500 }; /* N: numbers of a group */
    static float p[2][3 * N], grad[3 * N];
    const struct adamw_opt o = { .lr = 1e-3,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .eps = 1e-8 };
    struct pool *one = pool_new(1, NULL);
    double norm, sum = 0.0, want = 1.0 - pow(0.999, STEPS);
    struct adamw *a[2];
    struct err e;
    float v[N];

    for (size_t k = 0; k < 2; k++) {
        struct group group[3] = { { .p = p[k], .g = grad, .n = N },
            { .p = p[k] + N, .g = grad + N, .n = N },
            { .p = p[k] + 2 * N, .g = grad + 2 * N, .n = N } };
        struct tmodel t = { .group = group, .ngroup = 3, .nparam = 3 * N };

        a[k] = adamw_new(&t, DT_BF16);
        for (size_t i = 0; i < STEPS; i++) {
            for (size_t j = 0; j < 3 * N; j++)
                grad[j] = 1.0f;
            adamw_step(a[k], &t, k == 0 ? pool : one, &o, 1, &norm, &e);
        }
    }
    kern.widen_bf16(v, adamw_moment(a[0], 0, 1), N);
    for (size_t j = 0; j < N; j++)
        sum += v[j] / N;
    ok(near(sum, want, 0, 2e-3), "bf16 moments: v is %.4f, should be %.4f", sum,
        want);
    ok(memcmp(p[0], p[1], sizeof p[0]) == 0 &&
            memcmp(adamw_moment(a[0], 0, 0), adamw_moment(a[1], 0, 0), N * 2) ==
                0,
        "bf16 moments: one thread changes no bit");
    ok(adamw_rounding(a[0]) > 1e-4 && adamw_rounding(a[0]) < 4e-3,
        "bf16 moments: rounding is told as %.2g", adamw_rounding(a[0]));
    adamw_free(a[0]);
    adamw_free(a[1]);
    pool_free(one);
}

int
main(void)
{
    struct pool *pool = pool_new(2, NULL);

    golden_open(&g, "tests/golden/adamw.safetensors");
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        adamw_path("decayed", 0.1, kern_sets[i]);
        adamw_path("plain", 0.0, kern_sets[i]);
    }
    schedules();
    later_schedules();
    short_wsd();
    clipping(pool);
    not_finite(pool);
    first_step(pool);
    half_moments(pool);
    pool_free(pool);
    golden_close(&g);
    return done_testing();
}
