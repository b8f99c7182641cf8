/*
 * Reverse KL and generalised Jensen-Shannon divergence on given logits: against
 * TRL in double precision (scripts/oracle/jsd.py), against the definition, and
 * at the limits of beta, where other programs differ.
 */
#include "../lib/golden.h"
#include "../lib/sorted.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/pool.h"
#include "kern/loss.h"
#include "train/head_loss.h"

#define DIR "tests/golden/"

static const float *
floats(const struct golden *g, const char *name)
{
    return golden_get(g, name)->data;
}

/* Divergence (with tau^2) of n rows zs, zt [n,V] over the first `told` ids (0:
 * all); gradient into dz [n,V].  Both heads are the identity. */
static double
run(const struct loss_opt *o, size_t threads, const float *zs, const float *zt,
    size_t n, size_t V, size_t told, float *dz)
{
    struct pool *pool = pool_new(threads, NULL);
    float *eye = xcalloc(V * V, sizeof(float));
    float *dw = xcalloc(V * V, sizeof(float));
    uint32_t *place = xcalloc(n, sizeof(*place));
    uint32_t *target = xcalloc(n, sizeof(*target));
    const struct weight wt = { .data = (void *)eye,
        .dtype = DT_F32,
        .rows = V,
        .cols = V,
        .stride = V * sizeof(float) };
    const struct targets targets = { .kind = TARGETS_FINAL,
        .width = V,
        .vocab = told,
        .part = { { (const void *)zt, DT_F32, V } } };
    struct loss_sum sum = { 0 };
    struct arena plan, a;
    struct head_loss *h;

    for (size_t v = 0; v < V; v++)
        eye[v * V + v] = 1.0f;
    for (size_t i = 0; i < n; i++)
        place[i] = (uint32_t)i;
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, pool, V, V, &targets, n, 0));
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, V, V, &targets, n, 0);
    head_loss_rows(h, o, &wt, &wt, zs, &targets, place, target, n, dw, dz,
        &sum);
    head_loss_free(h);
    arena_release(&a);
    pool_free(pool);
    free(eye);
    free(dw);
    free(place);
    free(target);
    return sum.kl;
}

/* Divergence and gradient of a row, from the definition. */
static double
plain(const struct loss_opt *o, const float *zs, const float *zt, size_t V,
    size_t told, double *dz)
{
    const double beta = o->direction == KL_JS ? o->beta : 1.0;
    const double wp = o->direction == KL_JS ? beta : 0.0;
    const double wq = o->direction == KL_JS ? 1.0 - beta : 1.0;
    double q[1000], p[1000], sp = 0.0, sq = 0.0, all = 0.0;
    double kl = 0.0, own = 0.0;

    for (size_t v = 0; v < V; v++) {
        all += exp(zs[v]);
        q[v] = v < told ? exp(zs[v] / o->tau) : 0.0;
        p[v] = v < told ? exp(zt[v] / o->tau) : 0.0;
        sq += q[v];
        sp += p[v];
    }
    for (size_t v = 0; v < told; v++) {
        const double m = beta * (p[v] /= sp) + (1.0 - beta) * (q[v] /= sq);

        kl += p[v] * log(p[v] / m);
        own += q[v] * log(q[v] / m);
    }
    for (size_t v = 0; v < V; v++) {
        const double m = beta * p[v] + (1.0 - beta) * q[v];

        dz[v] = o->w_ce * (exp(zs[v]) / all - (v == 0));
        if (v < told)
            dz[v] += o->w_kl * o->tau * wq * q[v] * (log(q[v] / m) - own);
    }
    return o->tau * o->tau * (wp * kl + wq * own);
}

static void
golden_rows(const char *set)
{
    static const struct {
        const char *name;
        enum kl_direction direction;
        double beta;
    } v[] = { { "0", KL_FORWARD, 0 }, { "0.1", KL_JS, 0.1 },
        { "0.5", KL_JS, 0.5 }, { "0.9", KL_JS, 0.9 }, { "1", KL_REVERSE, 0 } };
    enum { N = 5, V = 61 };
    struct golden g, rows;

    golden_open(&g, DIR "grad/jsd.safetensors");
    golden_open(&rows, DIR "kern/loss.safetensors");
    for (size_t i = 0; i < 10; i++) {
        const struct loss_opt o = { .w_kl = 1,
            .tau = i % 2 ? 3 : 1,
            .direction = v[i / 2].direction,
            .beta = v[i / 2].beta };
        const struct st_tensor *value, *grad;
        double want[N * V], sum = 0.0, got;
        float dz[N * V];
        char key[40];

        snprintf(key, sizeof(key), "%s.%d.value", v[i / 2].name, (int)o.tau);
        value = golden_get(&g, key);
        snprintf(key, sizeof(key), "%s.%d.grad", v[i / 2].name, (int)o.tau);
        grad = golden_get(&g, key);
        for (size_t r = 0; r < N; r++)
            sum += o.tau * o.tau * golden_at(value, r);
        for (size_t r = 0; r < N * V; r++)
            want[r] = golden_at(grad, r);
        got = run(&o, 1, floats(&rows, "zs"), floats(&rows, "zt"), N, V, 0, dz);
        ok(near(got, sum, 0, 1e-6), "%s beta %s, tau %g: %.9g", set,
            v[i / 2].name, o.tau, got);
        ok(farthest(dz, want, N * V) <= 2e-6,
            "%s beta %s, tau %g: the gradient is off by %.2g", set,
            v[i / 2].name, o.tau, farthest(dz, want, N * V));
    }
    golden_close(&g);
    golden_close(&rows);
}

/* Compare with the definition: several slices of the vocabulary, in the last
 * two of which the teacher has no ids, and CE.  1 and 3 threads give the same
 * bits. */
static void
slices(const char *set, enum kl_direction direction, double beta)
{
    const struct loss_opt o = { .w_ce = 0.25,
        .w_kl = 0.7,
        .tau = 2,
        .direction = direction,
        .beta = beta };
    enum { V = 777, N = 19, TOLD = 500 };
    float *zs = xreallocarray(NULL, N * V, sizeof(float));
    float *zt = xreallocarray(NULL, N * V, sizeof(float));
    float *g[2] = { xreallocarray(NULL, N * V, sizeof(float)),
        xreallocarray(NULL, N * V, sizeof(float)) };
    double *want = xreallocarray(NULL, N * V, sizeof(double)), sum = 0.0, got;

    fill(zs, N * V, 9.0, 3);
    fill(zt, N * V, 9.0, 13);
    for (size_t r = 0; r < N; r++)
        sum += plain(&o, zs + r * V, zt + r * V, V, TOLD, want + r * V);
    got = run(&o, 1, zs, zt, N, V, TOLD, g[0]);
    ok(near(got, sum, 0, 1e-6) && farthest(g[0], want, N * V) <= 2e-6,
        "%s direction %d, beta %g: %.9g, gradient off by %.2g", set,
        (int)direction, beta, got, farthest(g[0], want, N * V));
    ok(got == run(&o, 3, zs, zt, N, V, TOLD, g[1]) &&
            memcmp(g[0], g[1], N * V * sizeof(float)) == 0,
        "%s direction %d, beta %g: 3 threads change no bit", set,
        (int)o.direction, o.beta);
    free(zs);
    free(zt);
    free(g[0]);
    free(g[1]);
    free(want);
}

/* Limits: the teacher is the student; logits are far apart; one is a NaN; beta
 * is near 0 or 1, where Jensen-Shannon tends to 0, not to a KL. */
static void
limits(const char *set)
{
    enum { V = 61 };
    static const double betas[] = { 1.0, 0.3, 0.01, 0.99 };
    float zs[V], zt[V], far[V], g[V];
    double kl, worst = 0.0, most = 0.0;
    struct loss_opt o = { .w_kl = 1, .tau = 1 };

    fill(zs, V, 6.0, 7);
    fill(zt, V, 6.0, 17);
    for (size_t v = 0; v < V; v++)
        far[v] = v % 3 == 0 ? 3e4f : v % 3 == 1 ? -3e4f : (float)v;
    for (size_t i = 0; i < 4; i++) {
        o.direction = i == 0 ? KL_REVERSE : KL_JS;
        o.beta = betas[i];
        most = farther(most, fabs(run(&o, 1, zs, zs, 1, V, 0, g)));
        for (size_t v = 0; v < V; v++)
            worst = farther(worst, fabs(g[v]));
        kl = run(&o, 1, far, zt, 1, V, 0, g);
        ok(isfinite(kl) && kl >= 0.0 && isfinite(g[0]) && isfinite(g[1]),
            "%s beta %g: logits of +-30000 stay finite: %g", set, betas[i], kl);
        kl = run(&o, 1, zt, far, 1, V, 0, g);
        ok(isfinite(kl) && kl >= 0.0,
            "%s beta %g: logits of a teacher stay finite: %g", set, betas[i],
            kl);
        far[1] = NAN;
        ok(isnan(run(&o, 1, far, zt, 1, V, 0, g)) &&
                isnan(run(&o, 1, zt, far, 1, V, 0, g)),
            "%s beta %g: a NaN shows in the loss", set, betas[i]);
        far[1] = -3e4f;
    }
    ok(most <= 1e-7 && worst <= 1e-7,
        "%s: 0 where the student is the teacher (%.2g, gradient %.2g)", set,
        most, worst);
    o.direction = KL_REVERSE;
    kl = run(&o, 1, zs, zt, 1, V, 0, g);
    o.direction = KL_FORWARD;
    ok(kl == run(&o, 1, zs, zt, 1, V, 0, g) ? 0 : kl > 0.1,
        "%s trap direction: reverse is not forward", set);
    ok(near(kl, run(&o, 1, zt, zs, 1, V, 0, g), 0, 1e-6),
        "%s trap direction: reverse is forward with the models exchanged", set);
    o.direction = KL_JS;
    o.beta = 0.999;
    ok(run(&o, 1, zs, zt, 1, V, 0, g) < 0.02 * kl,
        "%s trap beta: Jensen-Shannon tends to 0 at its ends", set);
}

/* Kernels agree with the reference for rows of every size. */
static void
kernels(const char *set)
{
    static const float betas[] = { 1.0f, 0.5f, 0.01f };
    const struct loss_kern *k = loss_kern(), *ref = &loss_kern_ref;
    const struct row_lse l = { 5.0f, 4.5f, 4.25f };
    double worst = 0.0, off = 0.0;

    for (size_t i = 0; i < 3; i++)
        for (size_t n = 0; n <= 67; n++) {
            float z[67], r[67], t[67];
            struct mix_part a, b;

            fill(z, n, 5.0, n);
            fill(t, n, 5.0, n + 100);
            memcpy(r, z, sizeof(r));
            a = k->js_sums(z, t, n, 3.0f, l, betas[i]);
            b = ref->js_sums(z, t, n, 3.0f, l, betas[i]);
            off = farther(off,
                fabs(a.p - b.p) + fabs(a.q - b.q) + fabs(a.kl - b.kl) +
                    fabs(a.own - b.own));
            k->js_grad(z, t, n, 3.0f, l, betas[i], 0.2f, 0.25f, 0.9f);
            ref->js_grad(r, t, n, 3.0f, l, betas[i], 0.2f, 0.25f, 0.9f);
            for (size_t j = 0; j < n; j++)
                worst = farther(worst, fabs(z[j] - r[j]));
        }
    ok(off <= 2e-6, "%s js_sums, rows of 0 to 67: %.2g", set, off);
    ok(worst <= 3e-7, "%s js_grad: %.2g", set, worst);
}

int
main(void)
{
    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        kernels(kern_sets[i]);
        golden_rows(kern_sets[i]);
        slices(kern_sets[i], KL_REVERSE, 0);
        slices(kern_sets[i], KL_JS, 0.2);
        limits(kern_sets[i]);
    }
    return done_testing();
}
