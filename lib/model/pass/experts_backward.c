/* The experts of a block, backward; see experts.h.  Gate, up and act are
 * computed again.  With u = dout W_down for a pair, the gradient of its weight
 * is u . act (plus dout . bias), and the gradient of act is the weight times u:
 * outputs of pairs are not needed. */
#include "base/profile.h"
#include "kern/glu_clamp.h"
#include "kern/kern.h"
#include "model/pass/backward_block.h"
#include "model/pass/experts.h"

#include <assert.h>
#include <string.h>

void
experts_lay_back(struct grads *grads, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a)
{
    struct experts_grads *g = room_make(&grads->room[ROOM_EXPERTS], sizeof *g);

    (void)tokens;
    g->dz = arena_alloc(a, rows * f->m->c.router.n, sizeof(float));
    g->dshared = arena_alloc(a, rows, sizeof(float));
}

/* Tensor t of expert e; each expert has `rows` rows. */
static struct weight
expert_weight(const struct expert_job *j, int t, size_t e, size_t rows)
{
    return weight_slice(&j->u->b->w[t], e * rows, rows);
}

/* Set ds: for each pair the gradient at its token's `out`, which is not yet
 * multiplied by the pair's weight. */
static void
spread_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    size_t p, end = expert_chunk(task, j->n * x->how.k, &p);

    (void)worker;
    for (; p < end; p++)
        memcpy(x->ds + p * x->d, j->in->d.out + j->row[x->token[p]] * x->d,
            x->d * sizeof(float));
}

/* Compute a part of gate and up again. */
static void
again_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    const struct weight gate = expert_weight(j, W_EXPERT_GATE, p.e, x->I);
    const struct weight up = expert_weight(j, W_EXPERT_UP, p.e, x->I);
    const size_t at = p.p0 * x->I + p.n0;
    const float *xs = x->xs + p.p0 * x->d;
    float *wide = j->u->f->wide[worker];

    if (p.m == 0)
        return;
    weight_product(&gate, p.n0, p.n, p.m, xs, wide, x->gate + at, x->I);
    weight_product(&up, p.n0, p.n, p.m, xs, wide, x->up + at, x->I);
    expert_bias(&j->u->b->w[W_BIAS_GATE], p.e, p.n0, p.n, p.m, x->gate + at,
        x->I);
    expert_bias(&j->u->b->w[W_BIAS_UP], p.e, p.n0, p.n, p.m, x->up + at, x->I);
}

/* dact = ds W_down */
static void
dact_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    const struct weight down = expert_weight(j, W_EXPERT_DOWN, p.e, x->d);

    if (p.m > 0)
        weight_product_back(&down, 0, x->d, p.n0, p.n, p.m, x->ds + p.p0 * x->d,
            x->d, GEMM_SET, j->u->f->wide[worker], x->dact + p.p0 * x->I + p.n0,
            x->I);
}

/* dy [d] . the bias of expert e */
static float
bias_dot(const struct weight *bias, size_t e, const float *dy, size_t d)
{
    enum { SOME = 256 };
    float b[SOME];
    double sum = 0.0;

    for (size_t c = 0; c < d; c += SOME) {
        const size_t n = d - c < SOME ? d - c : SOME;

        memset(b, 0, sizeof b);
        expert_bias(bias, e, c, n, 1, b, SOME);
        sum += kern.dot(dy + c, b, n);
    }
    return (float)sum;
}

/* Compute the gradients at the weights of pairs.  Replace gate and up by the
 * gradients at gate and up, and multiply act by the pair's weight. */
static void
unit_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct weight *bias = &j->u->b->w[W_BIAS_DOWN];
    size_t s, end = expert_chunk(task, j->n * x->how.k, &s);

    (void)worker;
    for (; s < end; s++) {
        const size_t at = x->pair[s] * x->I;
        float *gate = x->gate + at, *up = x->up + at, *act = x->act + at;
        float *dact = x->dact + at;

        expert_unit(x, act, gate, up, x->I);
        x->dw[s] = (float)kern.dot(dact, act, x->I);
        if (bias->rows > 0)
            x->dw[s] +=
                bias_dot(bias, x->id[s], x->ds + x->pair[s] * x->d, x->d);
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
expert_grad(const struct expert_job *j, const struct expert_part *p, float *g,
    size_t N, const float *dy, size_t lddy, const float *y, size_t ldy)
{
    const struct experts *x = j->x;
    size_t from = p->p0;

    for (size_t s = 0; s < j->nseq; s++) {
        size_t to = from;

        while (to < p->p0 + p->m && x->token[to] < x->seq[s + 1])
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
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    const struct group *to = j->u->g->group;
    float *g = to->g + p.e * x->I * x->d;

    (void)worker;
    expert_grad(j, &p, g + to->at[W_EXPERT_GATE], x->d, x->gate, x->I, x->xs,
        x->d);
    expert_grad(j, &p, g + to->at[W_EXPERT_UP], x->d, x->up, x->I, x->xs, x->d);
}

static void
grad_down_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    const struct group *to = j->u->g->group;

    (void)worker;
    expert_grad(j, &p, to->g + to->at[W_EXPERT_DOWN] + p.e * x->I * x->d, x->I,
        x->ds, x->d, x->act, x->I);
}

/* The gradients of one expert's biases, one pair after another. */
static void
grad_bias_task(void *ctx, size_t e, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct group *to = j->u->g->group;
    const size_t I = x->I, d = x->d, *at = to->at;
    float *gate = to->g + at[W_BIAS_GATE] + e * I;
    float *up = to->g + at[W_BIAS_UP] + e * I;
    float *down = to->g + at[W_BIAS_DOWN] + e * d;

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
    const struct weight gate = expert_weight(j, W_EXPERT_GATE, p.e, x->I);
    const struct weight up = expert_weight(j, W_EXPERT_UP, p.e, x->I);
    float *ds = x->ds + p.p0 * x->d + p.n0, *wide = j->u->f->wide[worker];

    if (p.m == 0)
        return;
    weight_product_back(&gate, 0, x->I, p.n0, p.n, p.m, x->gate + p.p0 * x->I,
        x->I, GEMM_SET, wide, ds, x->d);
    weight_product_back(&up, 0, x->I, p.n0, p.n, p.m, x->up + p.p0 * x->I, x->I,
        GEMM_ADD, wide, ds, x->d);
}

/* The number of the sequence that token i is of. */
static size_t
sequence_of(const struct experts *x, size_t i)
{
    size_t s = 0;

    while (i >= x->seq[s + 1])
        s++;
    return s;
}

/* Compute the gradients at the router's logits.  Add to the gradients at the
 * tokens' inputs what comes through the router and through the pairs. */
static void
inputs_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct experts_grads *g = j->u->g->room[ROOM_EXPERTS];
    const size_t d = x->d, E = x->how.n, k = x->how.k;
    size_t i0, end = expert_chunk(task, j->n, &i0);

    for (size_t i = i0; i < end; i++) {
        const double *dp = j->dp != NULL ? j->dp + sequence_of(x, i) * E : NULL;

        router_backward(&x->how, x->z + i * E, x->id + i * k, x->dw + i * k, dp,
            x->dz + i * E);
        memcpy(g->dz + j->row[i] * E, x->dz + i * E, E * sizeof(float));
    }
    weight_product_back(&j->u->b->w[W_ROUTER], 0, E, 0, d, end - i0,
        x->dz + i0 * E, E, GEMM_SET, j->u->f->wide[worker], x->dx + i0 * d, d);
    for (size_t i = i0; i < end; i++) {
        float *dxn = j->in->d.xn + j->row[i] * d;

        kern.add(dxn, dxn, x->dx + i * d, d);
        for (size_t s = i * k; s < (i + 1) * k; s++)
            kern.add(dxn, dxn, x->ds + x->pair[s] * d, d);
    }
}

/* Add to the gradients at in->xn what comes through the shared expert's
 * gate. */
static void
add_shared(const struct expert_job *j)
{
    const struct experts_grads *g = j->u->g->room[ROOM_EXPERTS];
    const size_t d = j->x->d;

    for (size_t i = 0; i < j->n; i++)
        kern.axpy(j->in->d.xn + j->row[i] * d, g->dshared[j->row[i]],
            j->u->vec[W_SHARED_GATE], d);
}

/* Add what this job's tokens contribute to the gradients of the experts'
 * weights and biases, unless only an adapter is trained. */
static void
sum_experts(struct expert_job *j)
{
    const struct experts *x = j->x;

    if (j->u->g->frozen)
        return;
    expert_parts(j, x->I, x->d, grad_gate_up_task);
    expert_parts(j, x->d, x->I, grad_down_task);
    if (j->u->b->w[W_BIAS_DOWN].rows > 0)
        pool_run(j->u->f->pool, x->how.n, grad_bias_task, j);
}

/* Run the experts backward for some sequences. */
static void
run_experts_back(struct expert_job *j)
{
    const struct experts *x = j->x;
    const size_t pairs = j->n * x->how.k;

    assert(j->n <= x->tokens && x->act != NULL);
    expert_choose(j);
    expert_gather(j);
    expert_chunks(j, pairs, spread_task);
    expert_parts(j, x->I, x->d, again_task);
    expert_parts(j, x->I, x->d, dact_task);
    expert_chunks(j, pairs, unit_task);
    sum_experts(j);
    expert_parts(j, x->d, x->I, dxs_task);
    expert_chunks(j, j->n, inputs_task);
    if (j->u->vec[W_SHARED_GATE] != NULL)
        add_shared(j);
}

void
experts_backward(struct run *u, const struct branch *in)
{
    const struct experts_grads *g = u->g->room[ROOM_EXPERTS];
    const size_t E = u->b->experts, rows = u->r->B * u->c.Tp;
    struct experts *x = u->f->room[ROOM_EXPERTS];

    if (u->b->mlp > 0)
        part_dense.backward(u, in);
    run_stages(u);
    if (u->b->mlp == 0)
        memset(in->d.xn, 0, rows * x->d * sizeof(float));
    memset(g->dz, 0, rows * E * sizeof(float));
    for (size_t k = 0; k < u->r->B;) {
        struct expert_job j = { .u = u,
            .in = in,
            .x = x,
            .row = x->row,
            .back = 1,
            .dp = u->g->dp != NULL ? u->g->dp + k * E : NULL };

        for (; k < u->r->B && j.n + u->r->T <= x->tokens; k++) {
            for (size_t t = 0; t < u->r->T; t++)
                if (row_live(u->r, k, t))
                    x->row[j.n++] = k * u->c.Tp + t;
            x->seq[0] = 0;
            x->seq[++j.nseq] = j.n;
        }
        run_experts_back(&j);
    }
    sum_matrix(u, W_ROUTER, g->dz, E, in->xn);
    if (u->vec[W_SHARED_GATE] != NULL)
        sum_matrix(u, W_SHARED_GATE, g->dshared, 1, in->xn);
    if (u->vec[W_ROUTER_BIAS] != NULL)
        sum_bias(u, W_ROUTER_BIAS, g->dz, E);
}
