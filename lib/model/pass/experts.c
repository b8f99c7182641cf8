/* The experts of a block, a feed-forward; see experts.h and run.h. */
#include "model/pass/experts.h"
#include "base/profile.h"
#include "kern/glu_clamp.h"
#include "kern/int.h"
#include "kern/kern.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { EXPERT_CHUNK = 32 }; /* tokens or pairs of an elementwise task */

static int
experts_has(const struct config *c, const struct block_shape *b)
{
    (void)c;
    return b->experts > 0;
}

static void
experts_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    part_dense.widths(c, b, w);
    raise_to(&w->route, b->experts);
}

/* Are matrices of experts packed for products in integers? */
static int
any_packed(const struct model *m)
{
    int any = 0;

    for (size_t i = 0; i < m->c.L; i++)
        for (int t = W_EXPERT_GATE; t <= W_EXPERT_DOWN; t++)
            any |= m->block[i].w[t].ints != NULL;
    return any;
}

/* Allocate room for AT_ONCE tokens, or a sequence if that is longer; more would
 * cost memory and gain nothing. */
static void
experts_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    enum { AT_ONCE = 1024 };
    const struct config *c = &f->m->c;
    const size_t most = f->T > AT_ONCE ? f->T : AT_ONCE, all = f->B * f->T;
    const size_t tokens = all < most ? all : most;
    const size_t E = c->router.n, k = c->router.k, I = c->expert_mlp, d = c->d;
    const size_t pairs = tokens * k;
    struct experts *x = room_make(&f->room[ROOM_EXPERTS], sizeof *x);

    (void)rows;
    x->how = c->router;
    x->d = d;
    x->I = I;
    x->tokens = tokens;
    x->clamped = family_of(c)->clamped_glu;
    x->row = arena_alloc(a, all, sizeof *x->row);
    x->seq = arena_alloc(a, f->B + 1, sizeof *x->seq);
    x->x = arena_alloc(a, tokens * d, sizeof(float));
    x->z = arena_alloc(a, tokens * E, sizeof(float));
    x->id = arena_alloc(a, pairs, sizeof *x->id);
    x->w = arena_alloc(a, pairs, sizeof(float));
    x->pair = arena_alloc(a, pairs, sizeof *x->pair);
    x->token = arena_alloc(a, pairs, sizeof *x->token);
    x->at = arena_alloc(a, E + 1, sizeof *x->at);
    x->xs = arena_alloc(a, pairs * d, sizeof(float));
    x->gate = arena_alloc(a, pairs * I, sizeof(float));
    x->up = arena_alloc(a, pairs * I, sizeof(float));
    if (any_packed(f->m))
        x->rounded = arena_alloc(a, pairs, int_row_bytes(d > I ? d : I));
    if (!(parts & FWD_TRAIN))
        return;
    x->act = arena_alloc(a, pairs * I, sizeof(float));
    x->dact = arena_alloc(a, pairs * I, sizeof(float));
    x->ds = arena_alloc(a, pairs * d, sizeof(float));
    x->dw = arena_alloc(a, pairs, sizeof(float));
    x->by = arena_alloc(a, pairs, sizeof(float));
    x->dz = arena_alloc(a, tokens * E, sizeof(float));
    x->dx = arena_alloc(a, tokens * d, sizeof(float));
}

/* ---- tasks ---- */

void
expert_chunks(struct expert_job *j, size_t n,
    void (*fn)(void *ctx, size_t task, size_t worker))
{
    pool_run(j->u->f->pool, (n + EXPERT_CHUNK - 1) / EXPERT_CHUNK, fn, j);
}

size_t
expert_chunk(size_t task, size_t n, size_t *i0)
{
    *i0 = task * EXPERT_CHUNK;
    return *i0 + EXPERT_CHUNK < n ? *i0 + EXPERT_CHUNK : n;
}

/* Columns of a part of the product under way.  Where weights are widened in the
 * backward pass it is a multiple of WEIGHT_COLS. */
static size_t
part_width(const struct expert_job *j)
{
    static const int tensor[] = { W_EXPERT_GATE, W_EXPERT_UP, W_EXPERT_DOWN };
    const size_t n = part_cols(j->N, j->K);

    for (int i = 0; j->back && i < 3; i++)
        if (weight_f32(&j->u->b->w[tensor[i]]) == NULL)
            return (n + WEIGHT_COLS - 1) / WEIGHT_COLS * WEIGHT_COLS;
    return n;
}

void
expert_parts(struct expert_job *j, size_t N, size_t K,
    void (*fn)(void *ctx, size_t task, size_t worker))
{
    size_t nb;

    j->N = N;
    j->K = K;
    nb = part_width(j);
    pool_run(j->u->f->pool, j->x->how.n * ((N + nb - 1) / nb), fn, j);
}

struct expert_part
expert_part(const struct expert_job *j, size_t task)
{
    const size_t nb = part_width(j), parts = (j->N + nb - 1) / nb;
    const size_t e = task / parts, n0 = task % parts * nb;
    const size_t *at = j->x->at;

    return (struct expert_part){ e, at[e], at[e + 1] - at[e], n0,
        n0 + nb <= j->N ? nb : j->N - n0 };
}

/* c [m,n] with ldc = x [m,cols] times rows r0..r0+n-1 of the weight,
 * transposed. */
static void
expert_product(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *x, float *wide, float *c, size_t ldc)
{
    const float *p = weight_f32(w);

    if (m <= DOTS_MOST && weight_dots(w, r0, n, m, x, c, ldc) == 0)
        return;
    if (m <= DOTS_MOST && p != NULL)
        kern.dots(m, n, w->cols, x, p + r0 * w->cols, w->cols, c, ldc);
    else
        weight_product(w, r0, n, m, x, wide, c, ldc);
}

void
expert_unit(const struct experts *x, float *act, const float *gate,
    const float *up, size_t n)
{
    (x->clamped ? glu_clamp_ref : kern.silu_mul)(act, gate, up, n);
}

void
expert_bias(const struct weight *bias, size_t e, size_t n0, size_t n, size_t m,
    float *y, size_t ldy)
{
    size_t before;

    if (bias->rows > 0 && dtype_bytes(bias->dtype, n0, &before) == 0)
        weight_add_row(bias->dtype, weight_row(bias, e) + before, n, m, y, ldy);
}

/* ---- the choice ---- */

/* Gather inputs of tokens and choose their experts. */
static void
choose_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const size_t d = x->d, E = x->how.n, k = x->how.k;
    const float *bias = j->u->vec[W_ROUTER_BIAS];
    size_t i0, end = expert_chunk(task, j->n, &i0);

    for (size_t i = i0; i < end; i++)
        memcpy(x->x + i * d, j->in->xn + j->row[i] * d, d * sizeof(float));
    if (!j->back)
        expert_product(&j->u->b->w[W_ROUTER], 0, E, end - i0, x->x + i0 * d,
            j->u->f->wide[worker], x->z + i0 * E, E);
    for (size_t i = i0; i < end; i++) {
        float *z = x->z + i * E;
        float *kept =
            j->u->a.route != NULL ? j->u->a.route + j->row[i] * E : NULL;

        if (j->back)
            memcpy(z, kept, E * sizeof *z);
        else if (bias != NULL)
            kern.add(z, z, bias, E);
        if (!j->back && kept != NULL)
            memcpy(kept, z, E * sizeof *z);
        router_choose(&x->how, z, j->u->vec[W_ROUTER_SHIFT], x->id + i * k,
            x->w + i * k);
    }
}

/* Sort the pairs by expert; pairs of the same expert stay in the order of
 * tokens. */
static void
sort_pairs(struct experts *x, size_t tokens)
{
    const size_t E = x->how.n, k = x->how.k;
    size_t next[ROUTER_EXPERTS];

    memset(x->at, 0, (E + 1) * sizeof *x->at);
    for (size_t i = 0; i < tokens * k; i++)
        x->at[x->id[i] + 1]++;
    for (size_t e = 0; e < E; e++) {
        x->at[e + 1] += x->at[e];
        next[e] = x->at[e];
    }
    for (size_t i = 0; i < tokens * k; i++) {
        x->pair[i] = (uint32_t)next[x->id[i]]++;
        x->token[x->pair[i]] = (uint32_t)(i / k);
    }
}

void
expert_choose(struct expert_job *j)
{
    expert_chunks(j, j->n, choose_task);
    sort_pairs(j->x, j->n);
}

static void
gather_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    size_t p, end = expert_chunk(task, j->n * x->how.k, &p);

    (void)worker;
    for (; p < end; p++)
        memcpy(x->xs + p * x->d, x->x + x->token[p] * x->d,
            x->d * sizeof(float));
}

void
expert_gather(struct expert_job *j)
{
    expert_chunks(j, j->n * j->x->how.k, gather_task);
}

/* ---- forward ---- */

static void
round_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    size_t p, end = expert_chunk(task, j->n * j->x->how.k, &p);

    (void)worker;
    for (; p < end; p++)
        kern.ints->round((void *)(j->x->rounded + p * int_row_bytes(j->K)),
            j->from + p * j->K, j->K);
}

/* Round the inputs [pairs,K] of products in integers. */
static void
round_inputs(struct expert_job *j, const float *from, size_t K)
{
    j->from = from;
    j->K = K;
    expert_chunks(j, j->n * j->x->how.k, round_task);
}

/* Compute part p of out [pairs,N]: the inputs x [pairs,K] of pairs, each times
 * the matrix t of its pair's expert. */
static void
part_product(const struct expert_job *j, int t, const struct expert_part *p,
    const float *x, size_t worker, float *out)
{
    const struct weight *all = &j->u->b->w[t];
    float *wide = j->u->f->wide[worker];
    struct weight w;
    struct int_matrix m;

    if (all->ints == NULL) {
        w = weight_slice(all, p->e * j->N, j->N);
        expert_product(&w, p->n0, p->n, p->m, x + p->p0 * j->K, wide,
            out + p->p0 * j->N + p->n0, j->N);
        return;
    }
    m = *all->ints;
    m.strips += p->e * (j->N / INT_ROWS) * m.strip;
    m.rows = j->N;
    kern.ints->multiply(&m, p->n0 / INT_ROWS, p->n / INT_ROWS,
        (const void *)(j->x->rounded + p->p0 * int_row_bytes(j->K)), p->m,
        (void *)wide, out + p->p0 * j->N, j->N);
}

/* Compute a part of gate and up, then gate = act(gate) * up. */
static void
gate_up_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    float *g = x->gate + p.p0 * x->I + p.n0, *u = x->up + p.p0 * x->I + p.n0;
    const double begin = profile_begin();

    if (p.m == 0)
        return;
    part_product(j, W_EXPERT_GATE, &p, x->xs, worker, x->gate);
    part_product(j, W_EXPERT_UP, &p, x->xs, worker, x->up);
    expert_bias(&j->u->b->w[W_BIAS_GATE], p.e, p.n0, p.n, p.m, g, x->I);
    expert_bias(&j->u->b->w[W_BIAS_UP], p.e, p.n0, p.n, p.m, u, x->I);
    for (size_t i = 0; i < p.m; i++, g += x->I, u += x->I)
        expert_unit(x, g, g, u, p.n);
    profile_end("experts gate, up", begin,
        4.0 * (double)(p.m * p.n) * (double)x->d, 0.0);
}

static void
down_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const struct expert_part p = expert_part(j, task);
    const double begin = profile_begin();

    if (p.m == 0)
        return;
    part_product(j, W_EXPERT_DOWN, &p, x->gate, worker, x->xs);
    expert_bias(&j->u->b->w[W_BIAS_DOWN], p.e, p.n0, p.n, p.m,
        x->xs + p.p0 * x->d + p.n0, x->d);
    profile_end("experts down", begin, 2.0 * (double)(p.m * p.n) * (double)x->I,
        0.0);
}

float
expert_shared_gate(const float *w, const float *x, size_t d)
{
    return (float)(1 / (1 + exp(-kern.dot(w, x, d))));
}

/* Add the outputs of each token's experts to its row of out. */
static void
combine_task(void *ctx, size_t task, size_t worker)
{
    const struct expert_job *j = ctx;
    const struct experts *x = j->x;
    const size_t d = x->d, k = x->how.k;
    size_t i, end = expert_chunk(task, j->n, &i);

    (void)worker;
    for (; i < end; i++) {
        float *out = j->in->out + j->row[i] * d;

        if (j->u->b->mlp == 0)
            memset(out, 0, d * sizeof *out);
        if (j->u->vec[W_SHARED_GATE] != NULL)
            kern.scale(out,
                expert_shared_gate(j->u->vec[W_SHARED_GATE], x->x + i * d, d),
                d);
        for (size_t s = i * k; s < (i + 1) * k; s++)
            kern.axpy(out, x->w[s], x->xs + x->pair[s] * d, d);
    }
}

/* Add the outputs of the tokens' experts to in->out, which has the shared
 * expert's output; without a shared expert set it. */
static void
run_experts(struct expert_job *j)
{
    const struct experts *x = j->x;
    const struct weight *w = j->u->b->w;
    const struct fwd *f = j->u->f;

    expert_choose(j);
    expert_gather(j);
    if (w[W_EXPERT_GATE].ints || w[W_EXPERT_UP].ints)
        round_inputs(j, x->xs, x->d);
    expert_parts(j, x->I, x->d, gate_up_task);
    if (w[W_EXPERT_DOWN].ints)
        round_inputs(j, x->gate, x->I);
    expert_parts(j, x->d, x->I, down_task);
    if (f->routed != NULL)
        f->routed(f->routed_ctx,
            &(struct fwd_routed){ j->u->i, j->n, x->how.k, x->d, x->id, x->w,
                x->pair, x->xs });
    expert_chunks(j, j->n, combine_task);
}

static void
experts_forward(struct run *u, const struct branch *in)
{
    struct experts *x = u->f->room[ROOM_EXPERTS];
    const size_t t0 = u->tile0 * u->c.tile, t1 = t0 + u->tiles * u->c.tile;
    size_t n = 0;

    show_input(u, in, FWD_MLP, in->xn, x->d);
    if (u->b->mlp > 0)
        part_dense.forward(u, in);
    run_stages(u);
    for (size_t k = 0; k < u->r->B; k++)
        for (size_t t = t0; t < t1; t++)
            if (row_live(u->r, k, t))
                x->row[n++] = k * u->c.Tp + t;
    for (size_t i = 0; i < n; i += x->tokens) {
        struct expert_job j = { .u = u,
            .in = in,
            .x = x,
            .row = x->row + i,
            .n = n - i < x->tokens ? n - i : x->tokens };

        run_experts(&j);
    }
}

const struct part part_experts = { experts_has, experts_widths, experts_lay,
    experts_lay_back, experts_forward, experts_backward };
