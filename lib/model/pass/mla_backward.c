/* Latent attention in a block's backward pass; see mla_block.h. */
#include "model/pass/mla_block.h"
#include "kern/kern.h"

#include <string.h>

static void
do_outputs_back(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const size_t n = u->H * u->f->m->c.D;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        mla_outputs_back(&u->g->mla, &u->f->m->c, u->H, at,
            u->g->datt + at * n);
    }
}

void
mla_block_outputs_back(struct run *u)
{
    const struct stage s = { do_outputs_back, u->c.tile / CHUNK,
        "backward outputs", 0, 2 * u->H * u->f->m->c.D };

    run_stages(u, &s, 1);
}

static void
do_heads_back(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        mla_heads_back(&u->g->mla, &u->f->m->c, u->H, at,
            u->g->dqkv + at * u->qkv, u->f->scratch[worker]);
    }
}

/* Compute a part of the gradients at the normed latents. */
static void
do_widen_back(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct weight *kv = &u->b->w[W_MLA_KVB], *q = &u->b->w[W_MLA_QB];
    const struct mla_room *g = &u->g->mla;

    if (part < nn_parts(kv))
        product_nn(u, kv, nn_cols(kv), g->wide, kv->rows, b, t0, part, worker,
            GEMM_SET, g->kv);
    else
        product_nn(u, q, nn_cols(q), u->g->dqkv, u->qkv, b, t0,
            part - nn_parts(kv), worker, GEMM_SET, g->q);
}

static void
do_norms_back(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const struct mla_room *g = &u->g->mla;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        if (row_live(u->r, b, t))
            mla_norm_back(g, &u->mla, c, u->vec, at,
                u->g->rstd_latent + (b * u->r->T + t) * 2);
        else
            memset(g->latent + at * mla_latent(c), 0,
                mla_latent(c) * sizeof(float));
    }
}

/* The matrix by whose columns the two products that add up to dxn1 are cut into
 * parts: one that has to be widened, if there is one. */
static const struct weight *
latent_cut(const struct run *u)
{
    const struct weight *kv = &u->b->w[W_MLA_KVA];

    return weight_f32(kv) == NULL ? kv : mla_first_query(u);
}

static void
do_latents_back(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const struct mla_room *g = &u->g->mla;
    const size_t nb = nn_cols(latent_cut(u)), n = mla_latent(c);
    const int latent = c->mla.q_rank > 0;

    product_nn(u, &u->b->w[W_MLA_KVA], nb, g->latent + c->mla.q_rank, n, b, t0,
        part, worker, GEMM_SET, u->g->dxn1);
    product_nn(u, mla_first_query(u), nb, latent ? g->latent : u->g->dqkv,
        latent ? n : u->qkv, b, t0, part, worker, GEMM_ADD, u->g->dxn1);
}

void
mla_block_backward(struct run *u)
{
    const struct config *c = &u->f->m->c;
    const struct weight *q = mla_first_query(u), *qb = &u->b->w[W_MLA_QB];
    const struct weight *kva = &u->b->w[W_MLA_KVA], *kvb = &u->b->w[W_MLA_KVB];
    const size_t chunks = u->c.tile / CHUNK;
    const struct stage s[] = { { do_heads_back, chunks, "backward rope", 0,
                                   6 * u->H * c->D },
        { do_widen_back, nn_parts(kvb) + nn_parts(qb), "backward widening",
            2 * (kvb->rows * kvb->cols + qb->rows * qb->cols), 0 },
        { do_norms_back, chunks, "backward latent norms", 0,
            4 * mla_latent(c) },
        { do_latents_back, nn_parts(latent_cut(u)), "backward latents",
            2 * c->d * (kva->rows + q->rows), 0 } };

    mla_block_norms(u);
    run_stages(u, s, 4);
}

void
mla_matrices(const struct run *u,
    void (*add)(void *ctx, int k, const float *dy, size_t lddy, const float *x,
        size_t ldx),
    void *ctx)
{
    const struct config *c = &u->f->m->c;
    const struct mla_shape *s = &c->mla;
    const struct mla_room *g = &u->g->mla;
    const size_t n = mla_latent(c);

    add(ctx, W_MLA_KVA, g->latent + s->q_rank, n, u->g->xn1, c->d);
    add(ctx, W_MLA_KVB, g->wide, u->H * (s->nope + s->v), u->mla.kv,
        s->kv_rank);
    if (s->q_rank == 0)
        return;
    add(ctx, W_MLA_QA, g->latent, n, u->g->xn1, c->d);
    add(ctx, W_MLA_QB, u->g->dqkv, u->qkv, u->mla.q, s->q_rank);
}

void
mla_vectors(const struct run *u,
    void (*add)(void *ctx, int t, struct vec_grad how), void *ctx)
{
    const struct mla_shape *s = &u->f->m->c.mla;
    const struct mla_room *g = &u->g->mla;
    struct vec_grad how = { .heads = 1,
        .rstd = u->g->rstd_latent,
        .ldr = 2,
        .x = u->mla.latent,
        .x_rows = u->c.Tp,
        .ldx = mla_latent(&u->f->m->c),
        .dy = g->q,
        .lddy = s->q_rank };

    if (s->q_rank > 0)
        add(ctx, W_MLA_NQ, how);
    how.rstd++;
    how.x += s->q_rank;
    how.dy = g->kv;
    how.lddy = s->kv_rank;
    add(ctx, W_MLA_NKV, how);
}
