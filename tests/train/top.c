/*
 * The loss and gradients from a teacher's top tokens, against PyTorch in double
 * precision (scripts/oracle/top.py), against the definition written down
 * plainly, and against central differences.
 */
#include "../lib/golden.h"
#include "../lib/sorted.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "train/head_loss.h"

#include <math.h>

#define DIR "tests/golden/grad/"

/* Logits given directly: the head is the identity. */
struct bench {
    struct pool *pool;
    struct arena arena;
    struct head_loss *h;
    size_t V;
    float *eye, *dw;
};

static void
bench_open(struct bench *b, size_t threads, size_t V,
    const struct targets *like, size_t rows)
{
    struct arena plan;

    b->pool = pool_new(threads, NULL);
    b->V = V;
    b->eye = xcalloc(V * V, sizeof(float));
    b->dw = xcalloc(V * V, sizeof(float));
    for (size_t i = 0; i < V; i++)
        b->eye[i * V + i] = 1.0f;
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, b->pool, V, V, like, rows, 0));
    arena_init(&b->arena, plan.used);
    b->h = head_loss_new(&b->arena, b->pool, V, V, like, rows, 0);
}

static void
bench_close(struct bench *b)
{
    head_loss_free(b->h);
    arena_release(&b->arena);
    pool_free(b->pool);
    free(b->eye);
    free(b->dw);
}

/* KL (with tau^2) of n rows zs [n,V]; their gradients into g [n,V]. */
static double
run(struct bench *b, const struct loss_opt *o, const float *zs,
    const struct targets *targets, size_t n, float *g)
{
    uint32_t *target = xcalloc(n, sizeof(*target));
    uint32_t *place = xcalloc(n, sizeof(*place));
    struct loss_sum sum = { 0 };
    const struct weight eye = { .data = (const void *)b->eye,
        .dtype = DT_F32,
        .rows = b->V,
        .cols = b->V,
        .stride = b->V * sizeof(float) };

    for (size_t i = 0; i < n; i++)
        place[i] = (uint32_t)i;
    head_loss_rows(b->h, o, &eye, NULL, zs, targets, place, target, n, b->dw, g,
        &sum);
    free(target);
    free(place);
    return sum.kl;
}

/* Loss of a row by the plain formula; its gradient into g [V]. */
static double
plain(const struct loss_opt *o, const float *zs, size_t V,
    const struct targets *targets, size_t row, double *g)
{
    const size_t k = targets->width;
    const uint32_t *ids =
        (const void *)targets_at(targets, &targets->part[TARGETS_IDS], row);
    const float *logp =
        (const void *)targets_at(targets, &targets->part[TARGETS_LOGP], row);
    const float *lse =
        (const void *)targets_at(targets, &targets->part[TARGETS_LSE], row);
    double *p = xcalloc(V, sizeof(*p)), *z = xcalloc(V, sizeof(*z));
    char *in = xcalloc(V, 1);
    double max = -INFINITY, all = 0.0, Q = 0.0, P, sum = 0.0, kl = 0.0;
    double max1 = -INFINITY, all1 = 0.0;

    for (size_t v = 0; v < V; v++) {
        z[v] = zs[v] / o->tau;
        max = fmax(max, z[v]);
        max1 = fmax(max1, zs[v]);
    }
    for (size_t v = 0; v < V; v++) {
        all += exp(z[v] - max);
        all1 += exp(zs[v] - max1);
    }
    for (size_t j = 0; j < k; j++) {
        p[ids[j]] = exp((logp[j] + (double)lse[0]) / o->tau - lse[1]);
        sum += p[ids[j]];
        in[ids[j]] = 1;
    }
    P = sum < 1.0 && k < V ? 1.0 - sum : 0.0;
    for (size_t v = 0; v < V; v++) {
        const double q = exp(z[v] - max) / all;

        p[v] /= sum + P;
        if (!in[v])
            Q += q;
        else if (p[v] > 0.0)
            kl += p[v] * (log(p[v]) - (z[v] - max - log(all)));
    }
    if (P > 0.0)
        kl += P * log(P / Q);
    for (size_t v = 0; v < V; v++) {
        const double q = exp(z[v] - max) / all;

        g[v] = o->w_kl * o->tau * (in[v] ? q - p[v] : q * (1.0 - P / Q)) +
            o->w_ce * (exp(zs[v] - max1) / all1 - (v == 0));
    }
    free(p);
    free(z);
    free(in);
    return o->tau * o->tau * kl;
}

/* ---- against PyTorch ---- */

static struct targets_tensor
part_of(const struct golden *g, const char *pre, const char *name, size_t width)
{
    const struct st_tensor *t;
    char key[60];

    snprintf(key, sizeof(key), "%s%s", pre, name);
    t = golden_get(g, key);
    return (struct targets_tensor){ t->data, t->dtype, width };
}

static void
golden_rows(const char *set)
{
    static const struct {
        size_t k, tau;
    } v[] = { { 1, 1 }, { 1, 3 }, { 7, 1 }, { 7, 3 }, { 60, 1 }, { 60, 3 },
        { 61, 1 }, { 61, 3 } };
    enum { N = 5, V = 61, K = 16 };
    struct golden g, rows;

    golden_open(&g, DIR "top.safetensors");
    golden_open(&rows, "tests/golden/kern/loss.safetensors");
    for (size_t i = 0; i < 8; i++) {
        const struct loss_opt o = { .w_kl = 1, .tau = (double)v[i].tau };
        const struct st_tensor *kl, *grad;
        struct targets t = { .kind = TARGETS_TOP, .width = v[i].k };
        double value = 0.0, want[N * V], got;
        struct bench b;
        char pre[40], key[60];
        float dz[N * V];

        snprintf(pre, sizeof(pre), "rows.%zu.%zu.", v[i].k, v[i].tau);
        t.part[TARGETS_IDS] = part_of(&g, pre, "ids", v[i].k);
        t.part[TARGETS_LOGP] = part_of(&g, pre, "logp", v[i].k);
        t.part[TARGETS_LSE] = part_of(&g, pre, "lse", 2);
        snprintf(key, sizeof(key), "%skl", pre);
        kl = golden_get(&g, key);
        snprintf(key, sizeof(key), "%sgrad", pre);
        grad = golden_get(&g, key);
        for (size_t r = 0; r < N; r++)
            value += o.tau * o.tau * golden_at(kl, r);
        for (size_t r = 0; r < N * V; r++)
            want[r] = golden_at(grad, r);
        bench_open(&b, 1, V, &t, N);
        got = run(&b, &o, golden_get(&rows, "zs")->data, &t, N, dz);
        ok(near(got, value, 1e-6, 1e-6), "%s top %zu, tau %zu: KL %.9g", set,
            v[i].k, v[i].tau, got);
        ok(farthest(dz, want, N * V) <= 2e-6,
            "%s top %zu, tau %zu: the gradient is off by %.2g", set, v[i].k,
            v[i].tau, farthest(dz, want, N * V));
        bench_close(&b);
    }
    for (size_t tau = 1; tau <= 3; tau += 2) {
        const struct loss_opt o = { .w_kl = 1, .tau = (double)tau };
        const struct st_tensor *kl, *grad;
        struct targets t = { .kind = TARGETS_DRAWS, .width = K };
        const float *share = golden_get(&g, "drawn.share")->data;
        const uint32_t *drawn = golden_get(&g, "drawn.ids")->data;
        uint32_t ids[N * K] = { 0 };
        uint8_t count[N * K] = { 0 };
        double value = 0.0, want[N * V], got;
        struct bench b;
        char pre[40], key[60];
        float dz[N * V];

        snprintf(pre, sizeof(pre), "drawn.%zu.", tau);
        snprintf(key, sizeof(key), "%skl", pre);
        kl = golden_get(&g, key);
        snprintf(key, sizeof(key), "%sgrad", pre);
        grad = golden_get(&g, key);
        for (size_t j = 0; j < N * 8; j++) {
            ids[j / 8 * K + j % 8] = drawn[j];
            count[j / 8 * K + j % 8] = (uint8_t)(share[j] * K);
        }
        t.part[TARGETS_DRAWN] =
            (struct targets_tensor){ (const void *)ids, DT_U32, K };
        t.part[TARGETS_COUNT] = (struct targets_tensor){ count, DT_U8, K };
        t.part[TARGETS_SELF] = part_of(&g, pre, "self", 1);
        for (size_t r = 0; r < N; r++)
            value += o.tau * o.tau * golden_at(kl, r);
        for (size_t r = 0; r < N * V; r++)
            want[r] = golden_at(grad, r);
        bench_open(&b, 1, V, &t, N);
        got = run(&b, &o, golden_get(&rows, "zs")->data, &t, N, dz);
        ok(near(got, value, 1e-6, 1e-6), "%s draws, tau %zu: KL %.9g", set, tau,
            got);
        ok(farthest(dz, want, N * V) <= 2e-6,
            "%s draws, tau %zu: the gradient is off by %.2g", set, tau,
            farthest(dz, want, N * V));
        bench_close(&b);
    }
    golden_close(&g);
    golden_close(&rows);
}

/* A teacher of another tokenizer (scripts/oracle/student_tokenizer.py): tokens
 * have a distribution, one token, or nothing. */
static void
golden_shared(const char *set)
{
    enum { N = 5, V = 61, K = 7 };
    static const struct loss_opt o = { .w_kl = 1, .tau = 1 };
    struct targets t = { .kind = TARGETS_SHARED, .width = K };
    double value = 0.0, want[N * V], got;
    struct golden g, rows;
    struct bench b;
    float dz[N * V], none = 0.0f;

    golden_open(&g, DIR "shared.safetensors");
    golden_open(&rows, "tests/golden/kern/loss.safetensors");
    t.part[TARGETS_IDS] = part_of(&g, "", "ids", K);
    t.part[TARGETS_LOGP] = part_of(&g, "", "logp", K);
    t.part[TARGETS_REST] = part_of(&g, "", "rest", 1);
    t.part[TARGETS_ENTRIES] = part_of(&g, "", "kind", 1);
    for (size_t r = 0; r < N; r++)
        value += golden_at(golden_get(&g, "kl"), r);
    for (size_t r = 0; r < N * V; r++)
        want[r] = golden_at(golden_get(&g, "grad"), r);
    bench_open(&b, 2, V, &t, N);
    got = run(&b, &o, golden_get(&rows, "zs")->data, &t, N, dz);
    ok(near(got, value, 1e-6, 1e-6), "%s tokens of both tokenizers: KL %.9g",
        set, got);
    ok(farthest(dz, want, N * V) <= 2e-6,
        "%s tokens of both tokenizers: the gradient is off by %.2g", set,
        farthest(dz, want, N * V));
    for (size_t v = 0; v < V; v++)
        none = fmaxf(none, fabsf(dz[2 * V + v]));
    ok(none == 0.0f, "%s a token without targets has no gradient", set);
    bench_close(&b);
    golden_close(&g);
    golden_close(&rows);
}

/* Reverse KL and Jensen-Shannon of top tokens and the rest
 * (scripts/oracle/top_directions.py). */
static void
golden_directions(const char *set)
{
    static const size_t ks[] = { 1, 7, 60, 61 };
    static const char *const names[] = { "reverse", "js" };
    enum { N = 5, V = 61 };
    struct golden g, d, rows;

    golden_open(&g, DIR "top.safetensors");
    golden_open(&d, DIR "top_directions.safetensors");
    golden_open(&rows, "tests/golden/kern/loss.safetensors");
    for (size_t i = 0; i < 16; i++) {
        const size_t k = ks[i / 4], tau = i / 2 % 2 ? 3 : 1;
        const struct loss_opt o = { .w_kl = 1,
            .tau = (double)tau,
            .direction = i % 2 ? KL_JS : KL_REVERSE,
            .beta = 0.3 };
        struct targets t = { .kind = TARGETS_TOP, .width = k };
        double value, want[N * V], got;
        struct bench b;
        char pre[40], key[60];
        float dz[N * V];

        snprintf(pre, sizeof(pre), "rows.%zu.%zu.", k, tau);
        t.part[TARGETS_IDS] = part_of(&g, pre, "ids", k);
        t.part[TARGETS_LOGP] = part_of(&g, pre, "logp", k);
        t.part[TARGETS_LSE] = part_of(&g, pre, "lse", 2);
        snprintf(key, sizeof(key), "%zu.%zu.%s.value", k, tau, names[i % 2]);
        value = golden_at(golden_get(&d, key), 0);
        snprintf(key, sizeof(key), "%zu.%zu.%s.grad", k, tau, names[i % 2]);
        for (size_t r = 0; r < N * V; r++)
            want[r] = golden_at(golden_get(&d, key), r);
        bench_open(&b, 1, V, &t, N);
        got = run(&b, &o, golden_get(&rows, "zs")->data, &t, N, dz);
        ok(near(got, value, 1e-6, 1e-6),
            "%s %s of the top %zu at tau %zu is PyTorch's: %.9g", set,
            names[i % 2], k, tau, got);
        ok(farthest(dz, want, N * V) <= 2e-6,
            "%s %s of the top %zu at tau %zu has a gradient off by %.2g", set,
            names[i % 2], k, tau, farthest(dz, want, N * V));
        bench_close(&b);
    }
    golden_close(&g);
    golden_close(&d);
    golden_close(&rows);
}

/* ---- against the definition ---- */

/* Compare with the definition: several slices, many k and both terms of the
 * loss, by 1 and 3 threads. */
static void
plain_rows(const char *set)
{
    static const size_t ks[] = { 1, 3, 64, 600, 776, 777 };
    static const struct loss_opt o = { .w_ce = 0.25, .w_kl = 1, .tau = 3 };
    enum { V = 777, N = 37 };
    float *zs = xreallocarray(NULL, N * V, sizeof(float));
    float *zt = xreallocarray(NULL, N * V, sizeof(float));
    float *g[2];
    double *want = xreallocarray(NULL, N * V, sizeof(double));

    fill(zs, N * V, 9.0, 1);
    fill(zt, N * V, 9.0, 11);
    g[0] = xreallocarray(NULL, N * V, sizeof(float));
    g[1] = xreallocarray(NULL, N * V, sizeof(float));
    for (size_t i = 0; i < sizeof(ks) / sizeof(*ks); i++) {
        double kl = 0.0, got = 0.0, again;
        struct sorted s;

        say(&s, zt, N, V, ks[i], o.tau);
        for (size_t r = 0; r < N; r++)
            kl += plain(&o, zs + r * V, V, &s.x, r, want + r * V);
        for (size_t threads = 1; threads <= 3; threads += 2) {
            struct bench b;

            bench_open(&b, threads, V, &s.x, threads == 1 ? N : 16);
            again = got;
            got = run(&b, &o, zs, &s.x, N, g[threads / 2]);
            bench_close(&b);
        }
        ok(near(got, kl, 0, 1e-6), "%s top %zu of %d: KL %.9g", set, ks[i], V,
            got);
        ok(farthest(g[0], want, N * V) <= 3e-6,
            "%s top %zu of %d: the gradient is off by %.2g", set, ks[i], V,
            farthest(g[0], want, N * V));
        ok(got == again && memcmp(g[0], g[1], N * V * sizeof(float)) == 0,
            "%s top %zu of %d: 3 threads, 16 rows at a time change no bit", set,
            ks[i], V);
        sorted_free(&s);
    }
    free(zs);
    free(zt);
    free(g[0]);
    free(g[1]);
    free(want);
}

/* The gradient is that of central differences of the loss. */
static void
differences(const char *set)
{
    static const struct loss_opt o = { .w_kl = 1, .tau = 2 };
    enum { V = 23, K = 6 };
    const float step = 0x1p-6f;
    float zs[V], zt[V], g[V], none[V];
    double worst = 0.0;
    struct bench b;
    struct sorted s;

    fill(zs, V, 4.0, 5);
    fill(zt, V, 4.0, 6);
    say(&s, zt, 1, V, K, o.tau);
    bench_open(&b, 1, V, &s.x, 1);
    run(&b, &o, zs, &s.x, 1, g);
    for (size_t v = 0; v < V; v++) {
        const float z = zs[v];
        double up, down;

        zs[v] = z + step;
        up = run(&b, &o, zs, &s.x, 1, none);
        zs[v] = z - step;
        down = run(&b, &o, zs, &s.x, 1, none);
        zs[v] = z;
        worst = farther(worst, fabs((up - down) / (2.0 * step) - g[v]));
    }
    ok(worst <= 3e-4, "%s: gradient by differences, off by %.2g", set, worst);
    bench_close(&b);
    sorted_free(&s);
}

/* Edges: rounding; the student or the teacher leaves almost nothing for the
 * tokens outside of the top; the student is the teacher. */
static void
edges(const char *set)
{
    static const struct loss_opt o = { .w_kl = 1, .tau = 1 };
    enum { V = 300, K = 4 };
    float zs[V], zt[V], g[V];
    double want[V], kl, got, sum = 0.0;
    struct bench b;
    struct sorted s;

    fill(zt, V, 4.0, 21);
    say(&s, zt, 1, V, K, o.tau);
    bench_open(&b, 1, V, &s.x, 1);
    got = run(&b, &o, zt, &s.x, 1, g);
    ok(near(got, 0.0, 1e-9, 0), "%s: KL(p,p) = %.2g", set, got);
    for (size_t v = 0; v < V; v++)
        sum = fmax(sum, fabs(g[v]));
    ok(sum <= 2e-6, "%s: the gradient of KL(p,p) is %.2g", set, sum);

    /* the student gives 1e-35 to the tokens outside of the top, the teacher far
     * more */
    memcpy(zs, zt, sizeof(zs));
    for (size_t j = 0; j < K; j++)
        zs[s.ids[j]] += 80.0f;
    kl = plain(&o, zs, V, &s.x, 0, want);
    got = run(&b, &o, zs, &s.x, 1, g);
    ok(near(got, kl, 0, 1e-6) && kl > 50.0,
        "%s: a student without a rest has the KL %.6g", set, got);
    ok(farthest(g, want, V) <= 2e-6,
        "%s: a student without a rest has a gradient off by %.2g", set,
        farthest(g, want, V));

    /* the teacher's top probabilities add up to more than 1 */
    for (size_t j = 0; j < K; j++)
        s.logp[j] = -0.001f;
    fill(zs, V, 4.0, 22);
    kl = plain(&o, zs, V, &s.x, 0, want);
    got = run(&b, &o, zs, &s.x, 1, g);
    ok(near(got, kl, 0, 1e-6) && kl > 0.0,
        "%s: top tokens of more than 1 have the KL %.6g", set, got);
    ok(farthest(g, want, V) <= 2e-6,
        "%s: top tokens of more than 1 have a gradient off by %.2g", set,
        farthest(g, want, V));
    for (size_t v = 0, top; v < V; v++) {
        top = 0;
        for (size_t j = 0; j < K; j++)
            top += s.ids[j] == v;
        if (!top && !(g[v] >= 0.0f))
            sum = INFINITY;
    }
    ok(isfinite(sum), "%s: their gradient takes from the other tokens", set);
    sorted_free(&s);
    bench_close(&b);
}

/* ---- kernels ---- */

/* Kernels agree with the reference for rows of every size. */
static void
kernels(const char *set)
{
    const struct loss_kern *k = loss_kern(), *ref = &loss_kern_ref;
    const struct row_lse l = { 5.0f, 4.5f, 4.25f };
    /* at temperature 1: the teacher has fewer ids; it has all */
    const struct row_lse one[2] = { { 9.0f, 8.5f, 9.25f },
        { 9.0f, 9.0f, 9.25f } };
    double worst[5] = { 0 }, kl = 0.0;

    for (size_t n = 1; n <= 67; n++) {
        float z[5][67], r[5][67], t[67];

        fill(z[0], n, 5.0, n);
        fill(t, n, 5.0, n + 100);
        for (size_t i = 0; i < 5; i++) {
            memcpy(z[i], z[0], n * sizeof(float));
            memcpy(r[i], z[0], n * sizeof(float));
        }
        k->ce_grad(z[0], n, l.s1, 0.25f);
        ref->ce_grad(r[0], n, l.s1, 0.25f);
        kl = fmax(kl,
            fabs(k->kd_grad(z[1], t, n, 3.0f, l, 0.25f, 0.9f) -
                ref->kd_grad(r[1], t, n, 3.0f, l, 0.25f, 0.9f)));
        k->top_grad(z[2], n, l.s1, 0.25f, 3.0f, 2.0f, -0.7f);
        ref->top_grad(r[2], n, l.s1, 0.25f, 3.0f, 2.0f, -0.7f);
        for (size_t i = 0; i < 2; i++)
            kl = fmax(kl,
                fabs(k->kd_grad(z[3 + i], t, n, 1.0f, one[i], 0.25f, 0.9f) -
                    ref->kd_grad(r[3 + i], t, n, 1.0f, one[i], 0.25f, 0.9f)));
        for (size_t i = 0; i < 5; i++)
            for (size_t j = 0; j < n; j++)
                worst[i] = farther(worst[i], fabsf(z[i][j] - r[i][j]));
    }
    ok(worst[0] <= 1e-7, "%s ce_grad, rows of 1 to 67: %.2g", set, worst[0]);
    ok(worst[1] <= 3e-7 && kl <= 1e-6, "%s kd_grad: %.2g, value %.2g", set,
        worst[1], kl);
    ok(worst[2] <= 3e-7, "%s top_grad: %.2g", set, worst[2]);
    ok(worst[3] <= 3e-7 && worst[4] <= 3e-7,
        "%s kd_grad at temperature 1: %.2g, %.2g", set, worst[3], worst[4]);
}

/* Narrowing to halves: a half stays itself; a number between two halves goes to
 * the nearer one, from the middle to the even one. */
static void
halves(void)
{
    size_t bad = 0, off = 0;
    uint16_t h;
    float x[2], y;

    for (uint32_t u = 0; u < 0x7c00; u++) {
        const uint16_t in[2] = { (uint16_t)u, (uint16_t)(u + 1) };

        kern.widen_f16(x, in, 2);
        kern.narrow_f16(&h, x, 1);
        bad += h != u;
        if (u == 0x7bff)
            x[1] = 65536.0f;
        y = (x[0] + x[1]) / 2.0f;
        kern.narrow_f16(&h, &y, 1);
        off += h != u + (u & 1);
        y = nextafterf(y, 0.0f);
        kern.narrow_f16(&h, &y, 1);
        off += h != u;
        y = -nextafterf((x[0] + x[1]) / 2.0f, INFINITY);
        kern.narrow_f16(&h, &y, 1);
        off += h != (0x8000 | (u + 1));
    }
    ok(bad == 0, "a half is narrowed to itself");
    ok(off == 0, "another number is rounded to the nearest half, ties to even");
    y = NAN;
    kern.narrow_f16(&h, &y, 1);
    ok((h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0, "NaN stays NaN");
    y = -1e30f;
    kern.narrow_f16(&h, &y, 1);
    ok(h == 0xfc00, "a number that is too large becomes infinite");
}

/* The loss from draws.  If there are so many that their shares are the
 * teacher's exact probabilities, it is the loss of the whole distribution.  A
 * token after the last with a share counts for nothing. */
static void
share_rows(const char *set)
{
    static const struct loss_opt o = { .w_ce = 0.25, .w_kl = 1, .tau = 3 };
    enum { V = 300, N = 3, K = 60000 };
    float *zs = xreallocarray(NULL, N * V, sizeof(float));
    float *zt = xreallocarray(NULL, N * V, sizeof(float));
    float *g = xreallocarray(NULL, N * V, sizeof(float)), selves[N];
    uint32_t *ids = xcalloc(N * K, sizeof(*ids));
    uint16_t *count = xcalloc(N * K, sizeof(*count));
    double *want = xreallocarray(NULL, N * V, sizeof(double)), kl = 0.0, got;
    const struct targets x = { .kind = TARGETS_DRAWS,
        .width = K,
        .part = { { (const void *)ids, DT_U32, K },
            { (const void *)count, DT_U16, K },
            { (const void *)selves, DT_F32, 1 } } };
    struct bench b;
    struct sorted s;

    fill(zs, N * V, 9.0, 41);
    for (size_t r = 0; r < N; r++) {
        size_t left = K;

        for (size_t v = 0; v < V; v++) {
            const size_t c =
                v + 1 < V ? 1 + rng_u64(51, r * V + v) % 300 : left;

            left -= c;
            ids[r * K + v] = (uint32_t)v;
            count[r * K + v] = (uint16_t)c;
            zt[r * V + v] = (float)(o.tau * log((double)c / K));
        }
    }
    bench_open(&b, 2, V, &x, N);
    say(&s, zt, N, V, V, o.tau);
    for (size_t r = 0; r < N; r++) {
        kl += plain(&o, zs + r * V, V, &s.x, r, want + r * V);
        selves[r] = (float)s.self[r];
    }
    got = run(&b, &o, zs, &x, N, g);
    ok(near(got, kl, 0, 1e-6), "%s: exact shares have the KL %.9g", set, got);
    ok(farthest(g, want, N * V) <= 3e-6,
        "%s: exact shares have a gradient off by %.2g", set,
        farthest(g, want, N * V));
    /* two tokens of 3/4 and 1/4; then token 0 many times, without a share */
    kl = 0.0;
    memset(count, 0, N * K * sizeof(*count));
    for (size_t r = 0; r < N; r++) {
        const float *z = zs + r * V;
        const uint32_t one = ids[r * K] = (uint32_t)(7 * r);
        const uint32_t two = ids[r * K + 1] = (uint32_t)(200 + r);
        double max = -INFINITY, soft = 0.0, all = 0.0;

        for (size_t j = 2; j < K; j++)
            ids[r * K + j] = 0;
        count[r * K] = K / 4 * 3;
        count[r * K + 1] = K / 4;
        selves[r] = -0.5f;
        for (size_t v = 0; v < V; v++)
            max = fmax(max, z[v]);
        for (size_t v = 0; v < V; v++) {
            soft += exp((z[v] - max) / o.tau);
            all += exp(z[v] - max);
        }
        kl += o.tau * o.tau *
            (-0.5 + max / o.tau + log(soft) - 0.75 * z[one] / o.tau -
                0.25 * z[two] / o.tau);
        for (size_t v = 0; v < V; v++)
            want[r * V + v] = o.tau *
                    (exp((z[v] - max) / o.tau) / soft - (v == one) * 0.75 -
                        (v == two) * 0.25) +
                0.25 * (exp(z[v] - max) / all - (v == 0));
    }
    got = run(&b, &o, zs, &x, N, g);
    ok(near(got, kl, 0, 1e-6), "%s: two tokens have the KL %.9g", set, got);
    ok(farthest(g, want, N * V) <= 3e-6,
        "%s: two tokens have a gradient off by %.2g", set,
        farthest(g, want, N * V));
    bench_close(&b);
    sorted_free(&s);
    free(zs);
    free(zt);
    free(g);
    free(ids);
    free(count);
    free(want);
}

int
main(void)
{
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        kernels(kern_sets[i]);
        golden_shared(kern_sets[i]);
        golden_rows(kern_sets[i]);
        golden_directions(kern_sets[i]);
        plain_rows(kern_sets[i]);
        differences(kern_sets[i]);
        edges(kern_sets[i]);
        share_rows(kern_sets[i]);
    }
    halves();
    return done_testing();
}
