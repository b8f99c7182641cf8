/* The bias of a head: losses, log probabilities and gradients are those of a
 * head with one more column, the bias, and of states that end with 1. */
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "train/head_logp.h"
#include "train/head_loss.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 5, V = 700, D = 6, E = D + 1 };

static const uint32_t target[N] = { 0, 9, 300, 699, 512 };
static const uint32_t place[N] = { 0, 1, 2, 3, 4 };
static struct pool *pool;

/* A student or a teacher, both ways: w and b, or wide. */
struct part {
    float w[V * D], b[V], wide[V * E];
    float h[N * D], long_h[N * E];
    struct weight head, wide_head;
};

static struct weight
matrix(const float *p, size_t cols)
{
    return (struct weight){ .data = (const unsigned char *)p,
        .dtype = DT_F32,
        .rows = V,
        .cols = cols,
        .stride = cols * sizeof(float) };
}

static void
fill(struct part *p, uint64_t seed)
{
    for (size_t i = 0; i < V * D; i++)
        p->w[i] = (float)rng_normal(seed, i);
    for (size_t v = 0; v < V; v++)
        p->b[v] = (float)rng_normal(seed, V * D + v);
    for (size_t i = 0; i < N * D; i++)
        p->h[i] = (float)rng_normal(seed, V * E + i);
    for (size_t v = 0; v < V; v++) {
        memcpy(p->wide + v * E, p->w + v * D, D * sizeof(float));
        p->wide[v * E + D] = p->b[v];
    }
    for (size_t i = 0; i < N; i++) {
        memcpy(p->long_h + i * E, p->h + i * D, D * sizeof(float));
        p->long_h[i * E + D] = 1.0f;
    }
    p->head = matrix(p->w, D);
    p->head.bias = (const unsigned char *)p->b;
    p->head.bias_dtype = DT_F32;
    p->wide_head = matrix(p->wide, E);
}

/* What a loss gives: dw [V,d] and dh [N,d], d D or E, and db. */
struct result {
    struct loss_sum sum;
    float logp[N], dw[V * E], dh[N * E], db[V];
};

static void
losses(const struct part *s, const struct part *t, int wide, struct result *r)
{
    static const struct loss_opt o = { .w_ce = 0.4, .w_kl = 0.6, .tau = 1.5 };
    const size_t d = wide ? E : D;
    const struct targets like = { .kind = TARGETS_FINAL,
        .width = d,
        .part = { { (const void *)(wide ? t->long_h : t->h), DT_F32, d } } };
    struct arena plan, a;
    struct head_loss *h;

    memset(r, 0, sizeof *r);
    arena_plan(&plan);
    head_loss_free(head_loss_new(&plan, pool, V, d, &like, N, 0));
    arena_init(&a, plan.used);
    h = head_loss_new(&a, pool, V, d, &like, N, 0);
    head_loss_bias(h, wide ? NULL : r->db);
    head_loss_rows(h, &o, wide ? &s->wide_head : &s->head,
        wide ? &t->wide_head : &t->head, wide ? s->long_h : s->h, &like, place,
        target, N, r->dw, r->dh, &r->sum);
    head_loss_free(h);
    arena_release(&a);
}

static void
log_probabilities(const struct part *s, int wide, struct result *r)
{
    static const float ones[N] = { 1, 1, 1, 1, 1 };
    const size_t d = wide ? E : D;
    const struct weight *w = wide ? &s->wide_head : &s->head;
    float entropy[N];
    const struct logp_out out = { r->logp, entropy, NULL };
    struct arena plan, a;
    struct head_logp *h;

    memset(r, 0, sizeof *r);
    arena_plan(&plan);
    head_logp_free(head_logp_new(&plan, pool, V, d, N));
    arena_init(&a, plan.used);
    h = head_logp_new(&a, pool, V, d, N);
    head_logp_bias(h, wide ? NULL : r->db);
    head_logp_rows(h, w, wide ? s->long_h : s->h, target, N, 0.7, &out);
    head_logp_grad(h, w, wide ? s->long_h : s->h, target, N, 0.7, ones, ones,
        r->dw, r->dh);
    head_logp_free(h);
    arena_release(&a);
}

/* The largest distance of the gradients in `got` from those in `want`, whose
 * last columns are those of the bias and of the ones. */
static double
gradients_off(const struct result *got, const struct result *want)
{
    double off = 0.0;

    for (size_t v = 0; v < V; v++) {
        for (size_t k = 0; k < D; k++)
            off = farther(off, fabs(got->dw[v * D + k] - want->dw[v * E + k]));
        off = farther(off, fabs(got->db[v] - want->dw[v * E + D]));
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < D; k++)
            off = farther(off, fabs(got->dh[i * D + k] - want->dh[i * E + k]));
    return off;
}

int
main(void)
{
    static struct part s, t;
    static struct result a, b;
    double off = 0.0;

    if (kern_init() != NULL || (pool = pool_new(2, NULL)) == NULL)
        return 1;
    fill(&s, 1);
    fill(&t, 2);
    losses(&s, &t, 0, &a);
    losses(&s, &t, 1, &b);
    ok(near(a.sum.ce, b.sum.ce, 0, 1e-6) && near(a.sum.kl, b.sum.kl, 0, 1e-6),
        "losses are those of a column more (%g, %g)", a.sum.ce, a.sum.kl);
    off = gradients_off(&a, &b);
    ok(off <= 1e-6, "gradients of losses are those of a column more (%.2g)",
        off);
    log_probabilities(&s, 0, &a);
    log_probabilities(&s, 1, &b);
    off = 0.0;
    for (size_t i = 0; i < N; i++)
        off = farther(off, fabs(a.logp[i] - b.logp[i]));
    ok(off <= 4e-6, "log probabilities are those of a column more (%.2g)", off);
    off = gradients_off(&a, &b);
    ok(off <= 2e-6,
        "gradients of log probabilities are those of a column more (%.2g)",
        off);
    pool_free(pool);
    return done_testing();
}
