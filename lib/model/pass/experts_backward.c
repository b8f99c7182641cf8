/* The experts of a block, backward; see experts.h.  Gate, up and act are
 * computed again.  With u = dout W_down for a pair, the gradient of its weight
 * is u . act (plus dout . bias), and the gradient of act is the weight times u:
 * outputs of pairs are not needed. */
#include "base/profile.h"
#include "kern/glu_clamp.h"
#include "kern/kern.h"
#include "model/pass/experts.h"
#include "model/pass/experts_impl.h"
#include "model/pass/forward_impl.h"

#include <assert.h>
#include <string.h>

struct expert_back {
    struct expert_job j;
    const struct expert_rows *r;
    const float *dout;
    const double *dp;
    float *dxn, *dz;
    struct group *g;
};

static struct expert_back *
back_of(void *ctx)
{
    return ctx; /* j is its first member */
}

/* The fp32 weights of tensor t of expert e; each expert has `rows` rows. */
static const float *
expert_weights(const struct expert_job *j, int t, size_t e, size_t rows)
{
    const struct weight w = weight_slice(&j->b->w[t], e * rows, rows);

    return weight_f32(&w);
}

/* Set ds: for each pair the gradient at its token's `out`, which is not yet
 * multiplied by the pair's weight. */
static void
spread_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_back *b = back_of(ctx);
    const struct experts *x = b->j.x;
    size_t p, end = expert_chunk(task, b->j.n * x->how.k, &p);

    (void)worker;
    for (; p < end; p++)
        memcpy(x->ds + p * x->d, b->dout + b->j.row[x->token[p]] * x->d,
            x->d * sizeof(float));
}

/* Compute a part of gate and up again. */
static void
again_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    const size_t at = p.p0 * x->I + p.n0;
    const float *xs = x->xs + p.p0 * x->d;

    (void)worker;
    if (p.m == 0)
        return;
    kern.gemm_nt(p.m, p.n, x->d, xs, x->d,
        expert_weights(j, W_EXPERT_GATE, p.e, x->I) + p.n0 * x->d, x->d,
        GEMM_SET, x->gate + at, x->I);
    kern.gemm_nt(p.m, p.n, x->d, xs, x->d,
        expert_weights(j, W_EXPERT_UP, p.e, x->I) + p.n0 * x->d, x->d, GEMM_SET,
        x->up + at, x->I);
    expert_bias(&j->b->w[W_BIAS_GATE], p.e, p.n0, p.n, p.m, x->gate + at, x->I);
    expert_bias(&j->b->w[W_BIAS_UP], p.e, p.n0, p.n, p.m, x->up + at, x->I);
}

/* dact = ds W_down */
static void
dact_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);

    (void)worker;
    if (p.m > 0)
        kern.gemm_nn(p.m, p.n, x->d, x->ds + p.p0 * x->d, x->d,
            expert_weights(j, W_EXPERT_DOWN, p.e, x->d) + p.n0, x->I, GEMM_SET,
            x->dact + p.p0 * x->I + p.n0, x->I);
}

/* Compute the gradients at the weights of pairs.  Replace gate and up by the
 * gradients at gate and up, and multiply act by the pair's weight. */
static void
unit_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const float *bias = j->b->w[W_BIAS_DOWN].rows > 0
        ? weight_f32(&j->b->w[W_BIAS_DOWN])
        : NULL;
    size_t s, end = expert_chunk(task, j->n * x->how.k, &s);

    (void)worker;
    for (; s < end; s++) {
        const size_t at = x->pair[s] * x->I;
        float *gate = x->gate + at, *up = x->up + at, *act = x->act + at;
        float *dact = x->dact + at;

        expert_unit(x, act, gate, up, x->I);
        x->dw[s] = (float)kern.dot(dact, act, x->I);
        if (bias != NULL)
            x->dw[s] += (float)kern.dot(x->ds + x->pair[s] * x->d,
                bias + x->id[s] * x->d, x->d);
        x->by[x->pair[s]] = x->w[s];
        kern.scale(dact, x->w[s], x->I);
        kern.scale(act, x->w[s], x->I);
        (x->clamped ? glu_clamp_bwd_ref : kern.silu_mul_bwd)(gate, up, dact,
            gate, up, x->I);
    }
}

/* The gradient of one expert's matrix, one sequence after another: g [M,N] +=
 * dy^T y over its pairs, rows n0..n0+n-1 of g. */
static void
expert_grad(const struct expert_back *b, const struct expert_part *p, float *g,
    size_t N, const float *dy, size_t lddy, const float *y, size_t ldy)
{
    const struct experts *x = b->j.x;
    size_t from = p->p0;

    for (size_t s = 0; s < b->r->nseq; s++) {
        size_t to = from;

        while (to < p->p0 + p->m && x->token[to] < b->r->seq[s + 1])
            to++;
        if (to > from)
            kern.gemm_tn(p->n, N, to - from, dy + from * lddy + p->n0, lddy,
                y + from * ldy, ldy, GEMM_ADD, g + p->n0 * N, N);
        from = to;
    }
}

static void
grad_gate_up_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_back *b = back_of(ctx);
    const struct experts *x = b->j.x;
    const struct expert_part p = expert_part(&b->j, task);
    float *g = b->g->g + p.e * x->I * x->d;

    (void)worker;
    expert_grad(b, &p, g + b->g->at[W_EXPERT_GATE], x->d, x->gate, x->I, x->xs,
        x->d);
    expert_grad(b, &p, g + b->g->at[W_EXPERT_UP], x->d, x->up, x->I, x->xs,
        x->d);
}

static void
grad_down_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_back *b = back_of(ctx);
    const struct experts *x = b->j.x;
    const struct expert_part p = expert_part(&b->j, task);

    (void)worker;
    expert_grad(b, &p, b->g->g + b->g->at[W_EXPERT_DOWN] + p.e * x->I * x->d,
        x->I, x->ds, x->d, x->act, x->I);
}

/* The gradients of one expert's biases, one pair after another. */
static void
grad_bias_task(void *ctx, size_t e, size_t worker)
{
    const struct expert_back *b = back_of(ctx);
    const struct experts *x = b->j.x;
    const size_t I = x->I, d = x->d, *at = b->g->at;
    float *gate = b->g->g + at[W_BIAS_GATE] + e * I;
    float *up = b->g->g + at[W_BIAS_UP] + e * I;
    float *down = b->g->g + at[W_BIAS_DOWN] + e * d;

    (void)worker;
    for (size_t p = x->at[e]; p < x->at[e + 1]; p++) {
        kern.add(gate, gate, x->gate + p * I, I);
        kern.add(up, up, x->up + p * I, I);
        kern.axpy(down, x->by[p], x->ds + p * d, d);
    }
}

/* Compute the gradients at the inputs of pairs, in ds, whose former content is
 * not needed again. */
static void
dxs_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    float *ds = x->ds + p.p0 * x->d + p.n0;

    (void)worker;
    if (p.m == 0)
        return;
    kern.gemm_nn(p.m, p.n, x->I, x->gate + p.p0 * x->I, x->I,
        expert_weights(j, W_EXPERT_GATE, p.e, x->I) + p.n0, x->d, GEMM_SET, ds,
        x->d);
    kern.gemm_nn(p.m, p.n, x->I, x->up + p.p0 * x->I, x->I,
        expert_weights(j, W_EXPERT_UP, p.e, x->I) + p.n0, x->d, GEMM_ADD, ds,
        x->d);
}

/* The number of the sequence that token i is of. */
static size_t
sequence_of(const struct expert_rows *r, size_t i)
{
    size_t s = 0;

    while (i >= r->seq[s + 1])
        s++;
    return s;
}

/* Compute the gradients at the router's logits.  Add to the gradients at the
 * tokens' inputs what comes through the router and through the pairs. */
static void
inputs_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_back *b = back_of(ctx);
    const struct experts *x = b->j.x;
    const size_t d = x->d, E = x->how.n, k = x->how.k;
    size_t i0, end = expert_chunk(task, b->j.n, &i0);

    (void)worker;
    for (size_t i = i0; i < end; i++) {
        const double *dp =
            b->dp != NULL ? b->dp + sequence_of(b->r, i) * E : NULL;

        router_backward(&x->how, x->z + i * E, x->id + i * k, x->dw + i * k, dp,
            x->dz + i * E);
        memcpy(b->dz + b->j.row[i] * E, x->dz + i * E, E * sizeof(float));
    }
    kern.gemm_nn(end - i0, d, E, x->dz + i0 * E, E,
        weight_f32(&b->j.b->w[W_ROUTER]), d, GEMM_SET, x->dx + i0 * d, d);
    for (size_t i = i0; i < end; i++) {
        float *dxn = b->dxn + b->j.row[i] * d;

        kern.add(dxn, dxn, x->dx + i * d, d);
        for (size_t s = i * k; s < (i + 1) * k; s++)
            kern.add(dxn, dxn, x->ds + x->pair[s] * d, d);
    }
}

void
experts_backward(struct experts *x, const struct expert_block *b,
    const struct expert_rows *r, const float *xn, const float *z,
    const float *dout, const double *dp, float *dxn, float *dz, struct group *g)
{
    struct expert_back back = {
        .j = { .x = x, .b = b, .row = r->row, .n = r->n, .xn = xn, .kept = z },
        .r = r,
        .dout = dout,
        .dp = dp,
        .dxn = dxn,
        .dz = dz,
        .g = g
    };
    struct expert_job *j = &back.j;
    const size_t pairs = r->n * x->how.k;

    assert(r->n <= x->tokens && x->act != NULL);
    expert_choose(j);
    expert_gather(j);
    expert_chunks(j, pairs, spread_task);
    expert_parts(j, x->I, x->d, again_task);
    expert_parts(j, x->I, x->d, dact_task);
    expert_chunks(j, pairs, unit_task);
    expert_parts(j, x->I, x->d, grad_gate_up_task);
    expert_parts(j, x->d, x->I, grad_down_task);
    if (b->w[W_BIAS_DOWN].rows > 0)
        pool_run(b->pool, x->how.n, grad_bias_task, j);
    expert_parts(j, x->d, x->I, dxs_task);
    expert_chunks(j, r->n, inputs_task);
}
