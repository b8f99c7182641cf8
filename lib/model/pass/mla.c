/* Latent attention, a mixer; see mla.h and run.h. */
#include "model/pass/mla.h"
#include "kern/kern.h"
#include "kern/rope.h"
#include "model/pass/attention.h"
#include "model/pass/backward_block.h"

#include <math.h>
#include <string.h>

static const float latent_eps = 1e-6f; /* whatever rms_norm_eps is */

float
mla_scale(const struct config *c)
{
    const double g = c->rope == ROPE_YARN && c->rope_mscale_all > 0
        ? rope_yarn_scale(c->rope_factor, c->rope_mscale_all)
        : 1;

    return (float)(g * g / sqrt((double)c->D));
}

static int
latent_has(const struct config *c, const struct block_shape *b)
{
    return b->groups > 0 && config_has_mla(c);
}

static void
latent_widths(const struct config *c, const struct block_shape *b,
    struct widths *w)
{
    heads_widths(c, b, w);
    raise_to(&w->latent, mla_latent(c));
}

/* Room for rows of latents, f->room[ROOM_LATENT], or for their gradients,
 * g->room[ROOM_LATENT]. */
struct latent_room {
    float *latent; /* [B,Tp,mla_latent] of Q, of K and V, and r */
    float *q, *kv; /* [B,Tp,q_rank], [B,Tp,kv_rank] normed latents */
    float *wide;   /* [B,Tp,H*(nope+v)] keys and values of heads */
    float *out;    /* [B,Tp,H*v] outputs of heads */
    float *rstd;   /* [B,T,2] 1/rms in latents' norms; backward only */
};

static struct latent_room *
lay_latents(void **room, const struct config *c, size_t rows, struct arena *a)
{
    const struct mla_shape *s = &c->mla;
    struct latent_room *m = room_make(room, sizeof *m);

    m->latent = arena_alloc(a, rows * mla_latent(c), sizeof(float));
    m->q = arena_alloc(a, rows * s->q_rank, sizeof(float));
    m->kv = arena_alloc(a, rows * s->kv_rank, sizeof(float));
    m->wide = arena_alloc(a, rows * c->H * (s->nope + s->v), sizeof(float));
    m->out = arena_alloc(a, rows * c->H * s->v, sizeof(float));
    return m;
}

static void
latent_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    heads_lay(f, rows, parts, a);
    lay_latents(&f->room[ROOM_LATENT], &f->m->c, rows, a);
}

static void
latent_lay_back(struct grads *g, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a)
{
    heads_lay_back(g, f, rows, tokens, a);
    lay_latents(&g->room[ROOM_LATENT], &f->m->c, rows, a)->rstd =
        arena_alloc(a, tokens * 2, sizeof(float));
}

/* The pass's rows of latents; they are in a.latent if they are kept. */
static struct latent_room
latents_of(const struct run *u)
{
    struct latent_room m = *(const struct latent_room *)u->f->room[ROOM_LATENT];

    if (u->a.latent != NULL)
        m.latent = u->a.latent;
    return m;
}

static const struct latent_room *
latent_grads(const struct run *u)
{
    return u->g->room[ROOM_LATENT];
}

/* ---- forward ---- */

/* Norm a row's latents. */
static void
latent_norms(struct run *u, const struct run_row *r)
{
    const struct config *c = &u->f->m->c;
    const struct mla_shape *s = &c->mla;
    const struct latent_room m = latents_of(u);
    const float *x = m.latent + r->at * mla_latent(c);
    float *q = m.q + r->at * s->q_rank, *kv = m.kv + r->at * s->kv_rank;

    if (!r->live) {
        memset(q, 0, s->q_rank * sizeof *q);
        memset(kv, 0, s->kv_rank * sizeof *kv);
        return;
    }
    if (s->q_rank > 0)
        kern.rmsnorm(q, x, u->vec[W_MLA_NQ], s->q_rank, latent_eps);
    kern.rmsnorm(kv, x + s->q_rank, u->vec[W_MLA_NKV], s->kv_rank, latent_eps);
}

/* y = x [rope] in the order of kern.rope. */
static void
rope_part(const struct mla_shape *s, const float *x, float *y)
{
    if (s->halves)
        memcpy(y, x, s->rope * sizeof *y);
    else
        apart_pairs(x, y, s->rope);
}

/* Make a row of a.qkv, which begins with H queries, a row of attention [q | k |
 * v], and turn it; rows of padding are zero. */
static void
latent_heads(struct run *u, const struct run_row *r)
{
    const struct config *c = &u->f->m->c;
    const struct mla_shape *s = &c->mla;
    const struct latent_room m = latents_of(u);
    const float *shared = m.latent + (r->at + 1) * mla_latent(c) - s->rope;
    const float *wide = m.wide + r->at * u->H * (s->nope + s->v);
    float *qkv = u->a.qkv + r->at * u->qkv, *room = u->f->scratch[r->worker];

    if (!r->live) {
        memset(qkv, 0, u->qkv * sizeof *qkv);
        return;
    }
    for (size_t h = 0; h < u->H; h++) {
        float *q = qkv + h * c->D, *k = q + u->H * c->D, *v = k + u->H * c->D;

        memcpy(room, q, c->D * sizeof *q);
        rope_part(s, room + s->nope, q);
        memcpy(q + s->rope, room, s->nope * sizeof *q);
        rope_part(s, shared, k);
        memcpy(k + s->rope, wide, s->nope * sizeof *k);
        wide += s->nope;
        memcpy(v, wide, s->v * sizeof *v);
        memset(v + s->v, 0, (c->D - s->v) * sizeof *v);
        wide += s->v;
    }
    turn_heads(u, r, qkv, 1);
}

/* Take the v numbers of each head's D outputs. */
static void
latent_outputs(struct run *u, const struct run_row *r)
{
    const size_t v = u->f->m->c.mla.v, D = u->f->m->c.D, n = u->H * v;
    const float *att = u->a.att + r->at * u->H * D;
    float *out = latents_of(u).out + r->at * n;

    if (!r->live)
        memset(out, 0, n * sizeof *out);
    else
        for (size_t h = 0; h < u->H; h++)
            memcpy(out + h * v, att + h * D, v * sizeof *out);
}

/* The two products of in->xn, and the two of normed latents (one, if queries
 * have no latent).  y, m: latents and queries, or their gradients. */
static void
latent_products(const struct run *u, const struct branch *in,
    const struct latent_room *m, float *queries, float *dxn,
    struct product p[2])
{
    const struct config *c = &u->f->m->c;
    const size_t rank = c->mla.q_rank, n = mla_latent(c);

    p[0] = (struct product){ W_MLA_KVA, in->xn, m->latent + rank, n, dxn };
    p[1] = rank > 0 ? (struct product){ W_MLA_QA, in->xn, m->latent, n, dxn }
                    : (struct product){ W_Q, in->xn, queries, u->qkv, dxn };
}

static size_t
widening_products(const struct run *u, const struct latent_room *m,
    const struct latent_room *d, float *queries, struct product p[2])
{
    const struct mla_shape *s = &u->f->m->c.mla;
    const struct latent_room latent = latents_of(u);

    p[0] = (struct product){ W_MLA_KVB, latent.kv, m->wide,
        u->H * (s->nope + s->v), d != NULL ? d->kv : NULL };
    p[1] = (struct product){ W_MLA_QB, latent.q, queries, u->qkv,
        d != NULL ? d->q : NULL };
    return s->q_rank > 0 ? 2 : 1;
}

static void
latent_forward(struct run *u, const struct branch *in)
{
    const struct config *c = &u->f->m->c;
    const struct latent_room m = latents_of(u);
    struct product p[2];
    size_t n;

    show_input(u, in, FWD_ATTN, in->xn, c->d);
    latent_products(u, in, &m, u->a.qkv, NULL, p);
    stage_products(u, in, p, 2, "forward latents");
    stage_rows(u, in, latent_norms, "forward latent norms", 2 * mla_latent(c));
    n = widening_products(u, &m, NULL, u->a.qkv, p);
    stage_products(u, in, p, n, "forward widening");
    stage_rows(u, in, latent_heads, "forward rope", 6 * u->H * c->D);
    u->engine->heads(u);
    stage_rows(u, in, latent_outputs, "forward outputs", 2 * u->H * c->mla.v);
    heads_output(u, in, m.out);
}

/* ---- backward ---- */

/* Set datt from the gradient at W_O's input, and compute that input again. */
static void
latent_outputs_back(struct run *u, const struct run_row *r)
{
    const size_t v = u->f->m->c.mla.v, D = u->f->m->c.D;
    const float *from = latent_grads(u)->out + r->at * u->H * v;
    float *datt = u->g->datt + r->at * u->H * D;

    latent_outputs(u, r);
    for (size_t h = 0; h < u->H; h++) {
        memcpy(datt + h * D, from + h * v, v * sizeof *datt);
        memset(datt + h * D + v, 0, (D - v) * sizeof *datt);
    }
}

/* rope_part backward. */
static void
rope_part_back(const struct mla_shape *s, const float *y, float *x)
{
    if (s->halves)
        memcpy(x, y, s->rope * sizeof *x);
    else
        join_pairs(y, x, s->rope);
}

/* latent_heads backward: from a row of dqkv, turned back, the gradients of the
 * queries, of keys and values, and of the key's numbers with RoPE. */
static void
latent_heads_back(struct run *u, const struct run_row *r)
{
    const struct config *c = &u->f->m->c;
    const struct mla_shape *s = &c->mla;
    const struct latent_room *g = latent_grads(u);
    float *shared = g->latent + (r->at + 1) * mla_latent(c) - s->rope;
    float *wide = g->wide + r->at * u->H * (s->nope + s->v);
    float *dqkv = u->g->dqkv + r->at * u->qkv;
    float *room = u->f->scratch[r->worker];

    memset(shared, 0, s->rope * sizeof *shared);
    for (size_t h = 0; h < u->H; h++) {
        float *q = dqkv + h * c->D, *k = q + u->H * c->D, *v = k + u->H * c->D;

        memcpy(room, q, c->D * sizeof *q);
        memcpy(q, room + s->rope, s->nope * sizeof *q);
        rope_part_back(s, room, q + s->nope);
        rope_part_back(s, k, room);
        kern.add(shared, shared, room, s->rope);
        memcpy(wide, k + s->rope, s->nope * sizeof *k);
        wide += s->nope;
        memcpy(wide, v, s->v * sizeof *v);
        wide += s->v;
    }
}

static void
latent_norms_back(struct run *u, const struct run_row *r)
{
    const struct config *c = &u->f->m->c;
    const struct mla_shape *s = &c->mla;
    const struct latent_room m = latents_of(u), *g = latent_grads(u);
    const size_t n = mla_latent(c);
    const float *x = m.latent + r->at * n;
    float *dx = g->latent + r->at * n, *rstd = g->rstd + r->tok * 2;

    if (!r->live) {
        memset(dx, 0, n * sizeof *dx);
        return;
    }
    if (s->q_rank > 0)
        rstd[0] = kern.rmsnorm_bwd(dx, g->q + r->at * s->q_rank, x,
            u->vec[W_MLA_NQ], s->q_rank, latent_eps, NULL);
    rstd[1] = kern.rmsnorm_bwd(dx + s->q_rank, g->kv + r->at * s->kv_rank,
        x + s->q_rank, u->vec[W_MLA_NKV], s->kv_rank, latent_eps, NULL);
}

static void
latent_vectors(struct run *u)
{
    const struct mla_shape *s = &u->f->m->c.mla;
    const struct latent_room m = latents_of(u), *g = latent_grads(u);
    struct vec_grad how = { .heads = 1,
        .rstd = g->rstd,
        .ldr = 2,
        .x = m.latent,
        .x_rows = u->c.Tp,
        .ldx = mla_latent(&u->f->m->c),
        .dy = g->q,
        .lddy = s->q_rank };

    if (s->q_rank > 0)
        sum_vector(u, W_MLA_NQ, how);
    how.rstd++;
    how.x += s->q_rank;
    how.dy = g->kv;
    how.lddy = s->kv_rank;
    sum_vector(u, W_MLA_NKV, how);
}

static void
latent_backward(struct run *u, const struct branch *in)
{
    const struct config *c = &u->f->m->c;
    const struct latent_room m = latents_of(u), *g = latent_grads(u);
    const struct product o = { W_O, m.out, in->d.out, c->d, g->out };
    struct product p[2];
    size_t n;

    stage_back(u, in, &o, 1, "backward o");
    stage_rows(u, in, latent_outputs_back, "backward outputs", 2 * u->H * c->D);
    heads_backward(u, in);
    stage_rows(u, in, latent_norms, "latent norms again", 2 * mla_latent(c));
    stage_rows(u, in, latent_heads_back, "backward rope", 6 * u->H * c->D);
    n = widening_products(u, g, g, u->g->dqkv, p);
    stage_back(u, in, p, n, "backward widening");
    stage_rows(u, in, latent_norms_back, "backward latent norms",
        4 * mla_latent(c));
    latent_products(u, in, g, u->g->dqkv, in->d.xn, p);
    stage_back(u, in, p, 2, "backward latents");
    latent_vectors(u);
}

const struct part part_latent = { latent_has, latent_widths, latent_lay,
    latent_lay_back, latent_forward, latent_backward };
