/* Losses on capped logits are those of logits that were capped before; the
 * gradients are those of the latter times the cap's derivative. */
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "kern/loss.h"
#include "train/head_logp.h"
#include "train/head_loss.h"

#include <string.h>

enum { N = 5, V = 700 }; /* several slices */

static float eye[V * V], dw[V * V], raw[N * V], told[N * V], capped[N * V],
    told_capped[N * V];

/* The losses of n rows of logits, and their gradient dz [N,V].  Both heads are
 * the identity. */
static struct loss_sum
run_losses(const struct loss_opt *o, const float *zs, const float *zt,
    double cap, double told_cap, float *dz)
{
    static const uint32_t place[N] = { 0, 1, 2, 3, 4 };
    static const uint32_t target[N] = { 0, 9, 300, 699, 512 };
    struct pool *pool = pool_new(2, NULL);
    const struct weight wt = { .data = (void *)eye,
        .dtype = DT_F32,
        .rows = V,
        .cols = V,
        .stride = V * sizeof(float) };
    const struct targets targets = { .kind = TARGETS_FINAL,
        .width = V,
        .part = { { (const void *)zt, DT_F32, V } } };
    struct loss_sum sum = { 0 };
    struct arena plan, a;
    struct head_loss *h;

    memset(dw, 0, sizeof dw);
    arena_plan(&plan);
    h = head_loss_new(&plan, pool, V, V, &targets, N, 0);
    head_loss_caps(h, &plan, cap, told_cap);
    head_loss_free(h);
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, V, V, &targets, N, 0);
    head_loss_caps(h, &a, cap, told_cap);
    head_loss_rows(h, o, &wt, &wt, zs, &targets, place, target, N, dw, dz,
        &sum);
    head_loss_free(h);
    arena_release(&a);
    pool_free(pool);
    return sum;
}

static void
compare(const char *name, const struct loss_opt *o)
{
    static float dz[N * V], want[N * V];
    const struct loss_sum a = run_losses(o, raw, told, 4.0, 3.0, dz);
    const struct loss_sum b =
        run_losses(o, capped, told_capped, 0.0, 0.0, want);
    double off = 0.0;

    for (size_t i = 0; i < N * V; i++) {
        const double t = tanh(raw[i] / 4.0);

        off = fmax(off, fabs(dz[i] - want[i] * (1.0 - t * t)));
    }
    ok(fabs(a.ce - b.ce) <= 1e-5 * b.ce && fabs(a.kl - b.kl) <= 1e-5 * b.kl,
        "%s: losses are those of capped logits", name);
    ok(off <= 1e-6, "%s: gradients pass through the caps (%.2g)", name, off);
}

/* Log probabilities of n tokens by logits zs, and the gradient dz [N,V] of the
 * sum of these and of the entropies. */
static void
run_logp(const float *zs, double cap, double tau, float *logp, float *dz)
{
    static const uint32_t target[N] = { 0, 9, 300, 699, 512 };
    static const float ones[N] = { 1, 1, 1, 1, 1 };
    struct pool *pool = pool_new(2, NULL);
    const struct weight w = { .data = (void *)eye,
        .dtype = DT_F32,
        .rows = V,
        .cols = V,
        .stride = V * sizeof(float) };
    float entropy[N];
    const struct logp_out out = { logp, entropy, NULL };
    struct arena plan, a;
    struct head_logp *h;

    arena_plan(&plan);
    h = head_logp_new(&plan, pool, V, V, N);
    head_logp_cap(h, &plan, cap);
    head_logp_free(h);
    arena_init(&a, plan.used);
    h = head_logp_new(&a, pool, V, V, N);
    head_logp_cap(h, &a, cap);
    head_logp_rows(h, &w, zs, target, N, tau, &out);
    head_logp_grad(h, &w, zs, target, N, tau, ones, ones, dw, dz);
    head_logp_free(h);
    arena_release(&a);
    pool_free(pool);
}

static void
compare_logp(double tau)
{
    static float dz[N * V], want[N * V];
    float a[N], b[N];
    double off = 0.0, far = 0.0;

    run_logp(raw, 4.0, tau, a, dz);
    run_logp(capped, 0.0, tau, b, want);
    for (size_t i = 0; i < N; i++)
        far = fmax(far, fabs(a[i] - b[i]));
    for (size_t i = 0; i < N * V; i++) {
        const double t = tanh(raw[i] / 4.0);

        off = fmax(off, fabs(dz[i] - want[i] * (1.0 - t * t)));
    }
    ok(far <= 1e-5, "tau %g: log probabilities are those of capped logits",
        tau);
    ok(off <= 1e-6, "tau %g: their gradients pass through the cap (%.2g)", tau,
        off);
}

int
main(void)
{
    const struct loss_opt forward = { .w_ce = 1, .w_kl = 0.5, .tau = 2 };
    const struct loss_opt reverse = { .w_ce = 1,
        .w_kl = 0.5,
        .tau = 1,
        .direction = KL_REVERSE };

    ok(kern_init() == NULL, "kernels are chosen");
    for (size_t i = 0; i < V; i++)
        eye[i * V + i] = 1.0f;
    for (size_t i = 0; i < N * V; i++) {
        raw[i] = (float)(3.0 * rng_normal(1, i));
        told[i] = (float)(3.0 * rng_normal(2, i));
        capped[i] = (float)(4.0 * tanh(raw[i] / 4.0));
        told_capped[i] = (float)(3.0 * tanh(told[i] / 3.0));
    }
    compare("forward KL", &forward);
    compare("reverse KL", &reverse);
    compare_logp(1.0);
    compare_logp(2.0);
    return done_testing();
}
