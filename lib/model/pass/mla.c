/* Latent attention of a token; see mla.h. */
#include "model/pass/mla.h"
#include "kern/kern.h"
#include "kern/rope.h"
#include "model/files/model.h"

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

void
mla_lay(struct mla_room *m, const struct config *c, size_t rows,
    struct arena *a)
{
    const struct mla_shape *s = &c->mla;

    memset(m, 0, sizeof *m);
    if (!config_has_mla(c))
        return;
    m->latent = arena_alloc(a, rows * mla_latent(c), sizeof(float));
    m->q = arena_alloc(a, rows * s->q_rank, sizeof(float));
    m->kv = arena_alloc(a, rows * s->kv_rank, sizeof(float));
    m->wide = arena_alloc(a, rows * c->H * (s->nope + s->v), sizeof(float));
    m->out = arena_alloc(a, rows * c->H * s->v, sizeof(float));
}

void
mla_norm(const struct mla_room *m, const struct config *c,
    const float *const *vec, size_t at)
{
    const struct mla_shape *s = &c->mla;
    const float *x = m->latent + at * mla_latent(c);

    if (s->q_rank > 0)
        kern.rmsnorm(m->q + at * s->q_rank, x, vec[W_MLA_NQ], s->q_rank,
            latent_eps);
    kern.rmsnorm(m->kv + at * s->kv_rank, x + s->q_rank, vec[W_MLA_NKV],
        s->kv_rank, latent_eps);
}

/* y = x [rope] in the order of kern.rope, which turns i and i + rope/2
 * together. */
static void
apart_pairs(const struct mla_shape *s, const float *x, float *y)
{
    const size_t half = s->rope / 2;

    for (size_t i = 0; i < s->rope; i++)
        y[s->halves ? i : i / 2 + i % 2 * half] = x[i];
}

void
mla_heads(const struct mla_room *m, const struct config *c, size_t H, size_t at,
    float *qkv, float *room)
{
    const struct mla_shape *s = &c->mla;
    const float *shared = m->latent + (at + 1) * mla_latent(c) - s->rope;
    const float *wide = m->wide + at * H * (s->nope + s->v);

    for (size_t h = 0; h < H; h++) {
        float *q = qkv + h * c->D, *k = q + H * c->D, *v = k + H * c->D;

        memcpy(room, q, c->D * sizeof *q);
        apart_pairs(s, room + s->nope, q);
        memcpy(q + s->rope, room, s->nope * sizeof *q);
        apart_pairs(s, shared, k);
        memcpy(k + s->rope, wide, s->nope * sizeof *k);
        wide += s->nope;
        memcpy(v, wide, s->v * sizeof *v);
        memset(v + s->v, 0, (c->D - s->v) * sizeof *v);
        wide += s->v;
    }
}

void
mla_outputs(const struct mla_room *m, const struct config *c, size_t H,
    size_t at, const float *att)
{
    const size_t v = c->mla.v;

    for (size_t h = 0; h < H; h++)
        memcpy(m->out + (at * H + h) * v, att + h * c->D, v * sizeof *att);
}

void
mla_outputs_back(const struct mla_room *g, const struct config *c, size_t H,
    size_t at, float *datt)
{
    const size_t v = c->mla.v;

    for (size_t h = 0; h < H; h++) {
        memcpy(datt + h * c->D, g->out + (at * H + h) * v, v * sizeof *datt);
        memset(datt + h * c->D + v, 0, (c->D - v) * sizeof *datt);
    }
}

/* apart_pairs backward. */
static void
join_pairs(const struct mla_shape *s, const float *y, float *x)
{
    const size_t half = s->rope / 2;

    for (size_t i = 0; i < s->rope; i++)
        x[i] = y[s->halves ? i : i / 2 + i % 2 * half];
}

void
mla_heads_back(const struct mla_room *g, const struct config *c, size_t H,
    size_t at, float *dqkv, float *room)
{
    const struct mla_shape *s = &c->mla;
    float *shared = g->latent + (at + 1) * mla_latent(c) - s->rope;
    float *wide = g->wide + at * H * (s->nope + s->v);

    memset(shared, 0, s->rope * sizeof *shared);
    for (size_t h = 0; h < H; h++) {
        float *q = dqkv + h * c->D, *k = q + H * c->D, *v = k + H * c->D;

        memcpy(room, q, c->D * sizeof *q);
        memcpy(q, room + s->rope, s->nope * sizeof *q);
        join_pairs(s, room, q + s->nope);
        join_pairs(s, k, room);
        kern.add(shared, shared, room, s->rope);
        memcpy(wide, k + s->rope, s->nope * sizeof *k);
        wide += s->nope;
        memcpy(wide, v, s->v * sizeof *v);
        wide += s->v;
    }
}

void
mla_norm_back(const struct mla_room *g, const struct mla_room *m,
    const struct config *c, const float *const *vec, size_t at, float *rstd)
{
    const struct mla_shape *s = &c->mla;
    const float *x = m->latent + at * mla_latent(c);
    float *dx = g->latent + at * mla_latent(c);

    if (s->q_rank > 0)
        rstd[0] = kern.rmsnorm_bwd(dx, g->q + at * s->q_rank, x, vec[W_MLA_NQ],
            s->q_rank, latent_eps, NULL);
    rstd[1] = kern.rmsnorm_bwd(dx + s->q_rank, g->kv + at * s->kv_rank,
        x + s->q_rank, vec[W_MLA_NKV], s->kv_rank, latent_eps, NULL);
}
