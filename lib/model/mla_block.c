/* Latent attention in a block's forward pass; see mla_block.h. */
#include "model/mla_block.h"
#include "model/mla.h"

#include <string.h>

static size_t
weight_parts(const struct weight *w)
{
    return w->rows > 0 ? part_count(w->rows, w->cols) : 0;
}

/* The matrix that gives queries. */
static const struct weight *
query_weight(const struct run *u)
{
    return &u->b->w[u->f->m->c.mla.q_rank > 0 ? W_MLA_QB : W_Q];
}

/* Latents, and queries that have none. */
static void
do_latents(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct config *c = &u->f->m->c;
    const struct weight *w = &u->b->w[W_MLA_KVA];
    const struct weight *q = &u->b->w[c->mla.q_rank > 0 ? W_MLA_QA : W_Q];
    float *latent = u->f->mla.latent;

    if (part < weight_parts(w))
        product_nt(u, w, u->f->xn, b, t0, part, worker, latent + c->mla.q_rank,
            mla_latent(c));
    else if (c->mla.q_rank > 0)
        product_nt(u, q, u->f->xn, b, t0, part - weight_parts(w), worker,
            latent, mla_latent(c));
    else
        product_nt(u, q, u->f->xn, b, t0, part - weight_parts(w), worker,
            u->a.qkv, u->qkv);
}

static void
do_latent_norms(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    (void)worker;
    for (size_t t = t0 + part * CHUNK; t < t0 + (part + 1) * CHUNK; t++)
        if (row_live(u->r, b, t))
            mla_norm(&u->f->mla, &u->f->m->c, u->vec, b * u->c.Tp + t);
}

/* Keys and values of heads, and queries from their latents. */
static void
do_widen(struct run *u, size_t b, size_t t0, size_t part, size_t worker)
{
    const struct mla_room *m = &u->f->mla;
    const struct weight *w = &u->b->w[W_MLA_KVB];

    if (part < weight_parts(w))
        product_nt(u, w, m->kv, b, t0, part, worker, m->wide, w->rows);
    else
        product_nt(u, query_weight(u), m->q, b, t0, part - weight_parts(w),
            worker, u->a.qkv, u->qkv);
}

/* Rows of attention, turned; rows of padding are zero. */
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
        mla_heads(&u->f->mla, c, u->H, at, qkv, u->f->scratch[worker]);
        turn_heads(c, u->KV, angles_at(u, b, t), position(u->f, u->r, b, t),
            qkv, 1);
    }
}

void
mla_block_heads(struct run *u)
{
    const struct config *c = &u->f->m->c;
    const struct weight *w = u->b->w;
    const size_t chunks = u->c.tile / CHUNK, latent = mla_latent(c);
    const size_t q = c->mla.q_rank > 0 ? W_MLA_QA : W_Q;
    const size_t wide = w[W_MLA_KVB].rows + w[W_MLA_QB].rows;
    const struct stage s[] = {
        { do_latents, weight_parts(&w[W_MLA_KVA]) + weight_parts(&w[q]),
            "forward latents", 2 * c->d * (w[W_MLA_KVA].rows + w[q].rows), 0 },
        { do_latent_norms, chunks, "forward latent norms", 0, 2 * latent },
        { do_widen, weight_parts(&w[W_MLA_KVB]) + weight_parts(&w[W_MLA_QB]),
            "forward widening", 2 * latent * wide / 2, 0 },
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
            mla_outputs(&u->f->mla, c, u->H, at, u->a.att + at * n);
        else
            memset(u->f->mla.out + at * u->H * c->mla.v, 0,
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
