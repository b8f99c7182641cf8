/*
 * Log probabilities of given tokens, entropies, and the gradients at final
 * states and head, and the loss of dynamic fine-tuning: against PyTorch in
 * double precision (scripts/oracle/logp.py).
 */
#include "../lib/golden.h"
#include "../lib/kern_sets.h"
#include "../lib/sorted.h"
#include "../lib/tap.h"
#include "base/pool.h"
#include "train/head_logp.h"
#include "train/head_loss.h"

enum { N = 259, V = 700, D = 6 };

static struct golden golden;

/* Results for the golden predictions, and gradients. */
struct results {
    float logp[N], entropy[N], dh[N * D], dw[V * D];
    uint8_t hit[N];
};

static const void *
data(const char *name)
{
    return golden_get(&golden, name)->data;
}

/* Compute predictions from..from+n-1.  entropy: 1: with entropies, and their
 * gradient. */
static void
run(struct results *r, size_t threads, size_t from, size_t n, double tau,
    int entropy)
{
    struct pool *pool = pool_new(threads, NULL);
    const struct weight w = { .data = data("w"),
        .dtype = DT_F32,
        .rows = V,
        .cols = D,
        .stride = D * sizeof(float) };
    const float *hs = (const float *)data("hs") + from * D;
    const float *dlogp = (const float *)data("dlogp") + from;
    const float *dent = (const float *)data("dentropy") + from;
    const uint32_t *target = (const uint32_t *)data("target") + from;
    const struct logp_out out = { r->logp, entropy ? r->entropy : NULL,
        r->hit };
    struct arena plan, a;
    struct head_logp *h;

    memset(r->dw, 0, sizeof r->dw);
    arena_plan(&plan);
    head_logp_free(head_logp_new(&plan, pool, V, D, n));
    arena_init(&a, plan.used);
    h = head_logp_new(&a, pool, V, D, n);
    head_logp_rows(h, &w, hs, target, n, tau, &out);
    head_logp_grad(h, &w, hs, target, n, tau, dlogp, entropy ? dent : NULL,
        r->dw, r->dh);
    head_logp_free(h);
    arena_release(&a);
    pool_free(pool);
}

/* The largest difference from a golden tensor. */
static double
off(const float *got, const char *key, const char *tau, size_t n)
{
    const struct st_tensor *t;
    double most = 0.0;
    char name[40];

    snprintf(name, sizeof name, key, tau);
    t = golden_get(&golden, name);
    for (size_t i = 0; i < n; i++)
        most = farther(most, fabs(got[i] - golden_at(t, i)));
    return most;
}

static void
golden_values(const char *set, const char *text, double tau)
{
    static struct results r;

    run(&r, 2, 0, N, tau, 1);
    ok(off(r.logp, "%s.logp", text, N) <= 4e-6,
        "%s: log probabilities at tau %s are PyTorch's", set, text);
    ok(off(r.entropy, "%s.entropy", text, N) <= 4e-6,
        "%s: entropies at tau %s are PyTorch's", set, text);
    ok(off(r.dh, "both.dh.%s", text, N * D) <= 2e-5,
        "%s: the gradient of both at the states at tau %s is PyTorch's", set,
        text);
    ok(off(r.dw, "both.dw.%s", text, V * D) <= 2e-5,
        "%s: the gradient of both at the head at tau %s is PyTorch's", set,
        text);
    run(&r, 1, 0, N, tau, 0);
    ok(off(r.dh, "dh.%s", text, N * D) <= 2e-5,
        "%s: the gradient at the states at tau %s is PyTorch's", set, text);
    ok(off(r.dw, "dw.%s", text, V * D) <= 2e-5,
        "%s: the gradient at the head at tau %s is PyTorch's", set, text);
}

/* The loss of dynamic fine-tuning against its golden values. */
static void
dft_loss(const char *set)
{
    const struct loss_opt o = { .w_ce = 1.0, .tau = 1.0, .dft = 1 };
    static struct results r;
    static uint32_t place[N];
    const struct targets none = { .kind = TARGETS_NONE };
    struct pool *pool = pool_new(2, NULL);
    struct loss_sum sum = { .n = 1 };
    struct arena plan, a;
    const struct weight w = { .data = (const void *)data("w"),
        .dtype = DT_F32,
        .rows = V,
        .cols = D,
        .stride = D * sizeof(float) };
    struct head_loss *h;

    memset(r.dw, 0, sizeof r.dw);
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, pool, V, D, &none, N, 0));
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, V, D, &none, N, 0);
    head_loss_rows(h, &o, &w, NULL, data("hs"), &none, place, data("target"), N,
        r.dw, r.dh, &sum);
    ok(near(loss_sum_mean(&sum, &o),
           golden_at(golden_get(&golden, "dft.loss"), 0), 0, 1e-6),
        "%s: the loss of dft is PyTorch's", set);
    ok(off(r.dh, "%s.dh", "dft", N * D) <= 4e-6 &&
            off(r.dw, "%s.dw", "dft", V * D) <= 4e-6,
        "%s: the gradient of dft is PyTorch's", set);
    head_loss_free(h);
    arena_release(&a);
    pool_free(pool);
}

/* The numbers of a prediction must not depend on other predictions. */
static void
alone(const char *set)
{
    static struct results all, one;
    size_t same = 0, hits = 0;

    run(&all, 2, 0, N, 1.0, 1);
    for (size_t i = 0; i < N; i += 37) {
        run(&one, 1, i, 1, 1.0, 1);
        same += one.logp[0] == all.logp[i] && one.entropy[0] == all.entropy[i];
        hits += all.hit[i];
    }
    ok(same == (N + 36) / 37,
        "%s: a prediction alone has the bits it has among %d", set, N);
    ok(hits < N / 37, "%s: random targets are not all the most probable", set);
}

int
main(void)
{
    golden_open(&golden, "tests/golden/grad/logp.safetensors");
    for (int i = 0; i < KERN_SETS; i++)
        if (kern_sets_use(kern_sets[i])) {
            golden_values(kern_sets[i], "1", 1.0);
            golden_values(kern_sets[i], "0.7", 0.7);
            dft_loss(kern_sets[i]);
            alone(kern_sets[i]);
        }
    golden_close(&golden);
    return done_testing();
}
