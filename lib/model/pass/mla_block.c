/* Latent attention in a block's forward pass; see mla_block.h. */
#include "model/pass/mla_block.h"

#include <string.h>

static size_t
weight_parts(const struct weight *w)
{
    return w->rows > 0 ? part_count(w->rows, w->cols) : 0;
}

const struct weight *
mla_first_query(const struct run *u)
{
    return &u->b->w[u->f->m->c.mla.q_rank > 0 ? W_MLA_QA : W_Q];
}

/* Compute a part of the latents, or of queries that have no latent. */
static void
do_latents(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const struct weight *w = &u->b->w[W_MLA_KVA];
    const int q = c->mla.q_rank > 0;
    float *latent = u->mla.latent;

    if (part < weight_parts(w))
        product_nt(u, w, u->f->xn, b, t0, part, worker, latent + c->mla.q_rank,
            mla_latent(c));
    else
        product_nt(u, mla_first_query(u), u->f->xn, b, t0,
            part - weight_parts(w), worker, q ? latent : u->a.qkv,
            q ? mla_latent(c) : u->qkv);
}

static void
do_latent_norms(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct mla_shape *s = &u->f->m->c.mla;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        if (row_live(u->r, b, t)) {
            mla_norm(&u->mla, &u->f->m->c, u->vec, at);
            continue;
        }
        if (s->q_rank > 0)
            memset(u->mla.q + at * s->q_rank, 0, s->q_rank * sizeof(float));
        memset(u->mla.kv + at * s->kv_rank, 0, s->kv_rank * sizeof(float));
    }
}

void
mla_block_norms(struct run *u)
{
    const struct stage s = { do_latent_norms, u->c.tile / CHUNK,
        "latent norms again", 0, 2 * mla_latent(&u->f->m->c) };

    run_stages(u, &s, 1);
}

/* Compute a part of the heads' keys and values, or of queries that have a
 * latent. */
static void
do_widen(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct mla_room *m = &u->mla;
    const struct weight *w = &u->b->w[W_MLA_KVB];

    if (part < weight_parts(w))
        product_nt(u, w, m->kv, b, t0, part, worker, m->wide, w->rows);
    else
        product_nt(u, &u->b->w[W_MLA_QB], m->q, b, t0, part - weight_parts(w),
            worker, u->a.qkv, u->qkv);
}

/* Make rows of attention, and turn them; rows of padding are zero. */
static void
do_heads(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;

    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;
        float *qkv = u->a.qkv + at * u->qkv;

        if (!row_live(u->r, b, t)) {
            memset(qkv, 0, u->qkv * sizeof *qkv);
            continue;
        }
        mla_heads(&u->mla, c, u->H, at, qkv, u->f->scratch[worker]);
        turn_heads(c, u->KV, angles_at(u, b, t), position(u->f, u->r, b, t),
            qkv, 1);
    }
}

void
mla_block_heads(struct run *u)
{
    const struct config *c = &u->f->m->c;
    const struct weight *q = mla_first_query(u), *qb = &u->b->w[W_MLA_QB];
    const struct weight *kva = &u->b->w[W_MLA_KVA], *kvb = &u->b->w[W_MLA_KVB];
    const size_t chunks = u->c.tile / CHUNK;
    const struct stage s[] = {
        { do_latents, weight_parts(kva) + weight_parts(q), "forward latents",
            2 * c->d * (kva->rows + q->rows), 0 },
        { do_latent_norms, chunks, "forward latent norms", 0,
            2 * mla_latent(c) },
        { do_widen, weight_parts(kvb) + weight_parts(qb), "forward widening",
            2 * (kvb->rows * kvb->cols + qb->rows * qb->cols), 0 },
        { do_heads, chunks, "forward rope", 0, 6 * u->H * c->D }
    };

    run_stages(u, s, 4);
}

static void
do_outputs(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const size_t n = u->H * c->D;

    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++) {
        const size_t at = b * u->c.Tp + t;

        if (row_live(u->r, b, t))
            mla_outputs(&u->mla, c, u->H, at, u->a.att + at * n);
        else
            memset(u->mla.out + at * u->H * c->mla.v, 0,
                u->H * c->mla.v * sizeof(float));
    }
}

void
mla_block_outputs(struct run *u)
{
    const struct stage s = { do_outputs, u->c.tile / CHUNK, "forward outputs",
        0, 2 * u->H * u->f->m->c.mla.v };

    run_stages(u, &s, 1);
}
