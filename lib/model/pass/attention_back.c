/* Attention, backward; see attention.h. */
#include "model/pass/attention.h"
#include "base/profile.h"
#include "kern/attn.h"
#include "kern/kern.h"
#include "model/pass/backward_block.h"

#include <math.h>
#include <string.h>

void
heads_lay_back(struct grads *g, const struct fwd *f, size_t rows, size_t tokens,
    struct arena *a)
{
    const struct config *c = &f->m->c;
    struct heads_grads *h = room_make(&g->room[ROOM_HEADS], sizeof *h);

    h->dk = arena_alloc(a, rows * c->H * c->D, sizeof(float));
    h->dv = arena_alloc(a, rows * c->H * c->D, sizeof(float));
    if (block_tensor_name(c, W_SINKS) != NULL)
        h->dsink = arena_alloc(a, rows * c->H, sizeof(float));
    if (!has_qk_norm(c))
        return;
    h->dheads = arena_alloc(a, rows * (c->H + c->KV) * c->D, sizeof(float));
    h->rstd_heads = arena_alloc(a, tokens * (c->H + c->KV), sizeof(float));
}

/* From dy, the gradient of att_gate's y, set dgate to the gradient of gate, and
 * dy to the gradient of x. */
static void
att_gate_bwd(float *dy, float *dgate, const float *x, const float *gate,
    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float s = 1.0f / (1.0f + expf(-gate[i]));

        dgate[i] = dy[i] * x[i] * s * (1.0f - s);
        dy[i] *= s;
    }
}

/* att_gate_apart backward. */
static void
att_gate_join(float *row, size_t n, size_t D, size_t kv, float *room)
{
    const size_t size = D * sizeof *row;

    memcpy(room, row + n * D + kv, n * size);
    memmove(row + 2 * n * D, row + n * D, kv * sizeof *row);
    for (size_t h = n; h-- > 0;) {
        memmove(row + 2 * h * D, row + h * D, size);
        memcpy(row + (2 * h + 1) * D, room + h * D, size);
    }
}

/* From the gradient of the gated outputs of heads compute the gradients of the
 * outputs and of the gates; compute the gated outputs again. */
static void
gate_row_back(struct run *u, const struct run_row *r)
{
    const size_t n = u->H * u->f->m->c.D, skip = u->qkv - n;
    const float *gate = u->a.qkv + r->at * u->qkv + skip;
    const float *att = u->a.att + r->at * n;
    float *gated = u->f->gated + r->at * n;

    if (!r->live) {
        memset(gated, 0, n * sizeof *gated);
        return;
    }
    att_gate(gated, att, gate, n);
    att_gate_bwd(u->g->datt + r->at * n, u->g->dqkv + r->at * u->qkv + skip,
        att, gate, n);
}

static void
attend_bwd(void *ctx, size_t task, size_t worker)
{
    struct run *u = ctx;
    const struct config *c = &u->f->m->c;
    const size_t b = task / u->H, h = task % u->H, Tp = u->c.Tp;
    const size_t row = b * Tp * u->qkv, part = task * Tp * c->D;
    const struct attn a = attention_of(u, b);
    const struct heads_grads *g = u->g->room[ROOM_HEADS];
    const double begin = profile_begin();
    double pairs = 0.0;

    attn_bwd(&a, h, u->g->datt + b * Tp * u->H * c->D, u->g->dqkv + row,
        g->dk + part, g->dv + part, u->f->scratch[worker]);
    if (a.sink != NULL)
        attn_sink_bwd(&a, h, u->g->datt + b * Tp * u->H * c->D,
            g->dsink + b * Tp * u->H);
    for (size_t qt = 0; qt < Tp / ATTN_TILE; qt++)
        pairs += attn_pairs(&a, qt);
    profile_end("backward attention", begin, 10.0 * (double)c->D * pairs, 0.0);
    profile_exps("backward attention", pairs);
}

/* Backward through the norms of a row's heads: changes dq in place.  The
 * gradients of the norms' weights need the old value, of which a copy stays in
 * dheads. */
static void
head_norms(struct run *u, const struct run_row *r, float *dq)
{
    const struct config *c = &u->f->m->c;
    const int whole = u->f->family->whole_norms;
    const size_t D = c->D, n = u->H + u->KV;
    const float *raw = u->a.raw + r->at * n * D;
    const struct heads_grads *g = u->g->room[ROOM_HEADS];
    size_t len;

    memcpy(g->dheads + r->at * n * D, dq, n * D * sizeof *dq);
    /* one norm for each head or, with whole_norms, for all heads of Q or K */
    for (size_t h = 0; h < n; h += len) {
        len = !whole ? 1 : h < u->H ? u->H : u->KV;
        g->rstd_heads[r->tok * n + h] =
            kern.rmsnorm_bwd(dq + h * D, dq + h * D, raw + h * D,
                u->vec[h < u->H ? W_NQ : W_NK], len * D, (float)c->eps, NULL);
    }
}

/* Add up the query heads' terms of dk and dv in the order of heads; then go
 * back through RoPE, the heads' norms and att_gate_apart. */
static void
finish_row_back(struct run *u, const struct run_row *r)
{
    const size_t D = u->f->m->c.D, G = u->H / u->KV, Tp = u->c.Tp;
    const struct heads_grads *g = u->g->room[ROOM_HEADS];
    float *dq = u->g->dqkv + r->at * u->qkv;
    float *dk = dq + u->H * D, *dv = dk + u->KV * D;

    if (!r->live) {
        memset(dq, 0, u->qkv * sizeof *dq);
        return;
    }
    for (size_t h = 0; h < u->H; h++) {
        const size_t from = ((r->b * u->H + h) * Tp + r->t) * D;
        float *k = dk + h / G * D, *v = dv + h / G * D;

        if (h % G == 0) {
            memcpy(k, g->dk + from, D * sizeof *k);
            memcpy(v, g->dv + from, D * sizeof *v);
        } else {
            kern.add(k, k, g->dk + from, D);
            kern.add(v, v, g->dv + from, D);
        }
    }
    turn_heads(u, r, dq, -1);
    if (u->a.raw != NULL)
        head_norms(u, r, dq);
    if (u->f->family->gated)
        att_gate_join(dq, u->H, D, 2 * u->KV * D, u->f->scratch[r->worker]);
}

/* Add the gradients of the biases of Q, K and V, of the sinks and of the heads'
 * norms to the list. */
static void
head_vectors(struct run *u)
{
    const struct heads_grads *g = u->g->room[ROOM_HEADS];
    const int whole = u->f->family->whole_norms;
    const size_t D = u->f->m->c.D, q = u->H * D;
    const size_t n = u->H + u->KV, bias[] = { 0, q, n * D };

    for (int k = 0; u->vec[W_BQ] != NULL && k < 3; k++)
        sum_bias(u, W_BQ + k, u->g->dqkv + bias[k], u->qkv);
    if (u->vec[W_SINKS] != NULL)
        sum_bias(u, W_SINKS, g->dsink, u->H);
    for (int k = 0; u->vec[W_NQ] != NULL && k < 2; k++)
        sum_vector(u, W_NQ + k,
            (struct vec_grad){ .heads = whole ? 1
                    : k                       ? u->KV
                                              : u->H,
                .rstd = g->rstd_heads + (k ? u->H : 0),
                .ldr = n,
                .x = u->a.raw + (k ? q : 0),
                .x_rows = u->c.Tp,
                .ldx = n * D,
                .dy = g->dheads + (k ? q : 0),
                .lddy = n * D });
}

void
heads_backward(struct run *u, const struct branch *in)
{
    run_stages(u);
    pool_run(u->f->pool, u->r->B * u->H, attend_bwd, u);
    stage_rows(u, in, finish_row_back, "backward rope", 3 * u->qkv);
}

void
attention_backward(struct run *u, const struct branch *in)
{
    const size_t d = u->f->m->c.d, n = u->H * u->f->m->c.D;
    const int gated = u->f->family->gated;
    const struct product o = { W_O, gated ? u->f->gated : u->a.att, in->d.out,
        d, u->g->datt };
    struct product qkv[3];

    stage_back(u, in, &o, 1, "backward o");
    if (gated)
        stage_rows(u, in, gate_row_back, "backward gate", 5 * n);
    heads_backward(u, in);
    products_abreast(u, W_Q, 3, in->xn, u->g->dqkv, in->d.xn, qkv);
    stage_back(u, in, qkv, 3, "backward qkv");
    head_vectors(u);
}
