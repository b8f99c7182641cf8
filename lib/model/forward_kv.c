/*
 * Generation with a cache of keys and values: one sequence, plain loops.  A
 * single token is multiplied by dot products, whose speed is that of reading
 * the weights; a prompt goes through in tiles of KV_TILE tokens.
 */
#include "model/engine.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KV_TILE = 64, KV_PART = 64 }; /* tokens; rows of a weight */

struct kvcache {
    struct fwd *f;
    size_t T, n; /* capacity, tokens in it */
    struct arena arena;
    float *k, *v; /* [L,T,KV*D], k after rope */
    /* a tile of tokens */
    float *x, *xn, *out;  /* [KV_TILE,d] */
    float *qkv, *att;     /* [KV_TILE,(H+2KV)D], [KV_TILE,H*D] */
    float *gate, *up;     /* [KV_TILE,mlp] */
    float *p;             /* [threads,T] weights of one head */
    float *cs, *cs_local; /* [T,D] angles, as in struct fwd */
    float **wide;         /* [threads] KV_PART widened rows */
};

static void
layout(struct kvcache *k, struct arena *a)
{
    const struct model *m = k->f->m;
    const struct config *c = &m->c;
    const size_t kv = c->KV * c->D, threads = pool_size(k->f->pool);
    size_t mlp = 1, cols = c->d > c->H * c->D ? c->d : c->H * c->D;

    for (size_t i = 0; i < c->L; i++)
        mlp = m->block[i].mlp > mlp ? m->block[i].mlp : mlp;
    cols = mlp > cols ? mlp : cols;
    k->k = arena_alloc(a, c->L * k->T * kv, sizeof(float));
    k->v = arena_alloc(a, c->L * k->T * kv, sizeof(float));
    k->x = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->xn = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->out = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->qkv = arena_alloc(a, KV_TILE * qkv_width(c), sizeof(float));
    k->att = arena_alloc(a, KV_TILE * c->H * c->D, sizeof(float));
    k->gate = arena_alloc(a, KV_TILE * mlp, sizeof(float));
    k->up = arena_alloc(a, KV_TILE * mlp, sizeof(float));
    k->p = arena_alloc(a, threads * k->T, sizeof(float));
    angles(k->f, k->T, a, &k->cs, &k->cs_local);
    k->wide = arena_alloc(a, threads, sizeof *k->wide);
    for (size_t i = 0; i < threads; i++) {
        float *p = arena_alloc(a, KV_PART * cols, sizeof *p);

        if (k->wide != NULL)
            k->wide[i] = p;
    }
}

struct kvcache *
kv_new(struct fwd *f, size_t T)
{
    struct kvcache *k = xcalloc(1, sizeof *k);
    struct arena plan;

    assert(T > 0);
    k->f = f;
    k->T = T;
    arena_plan(&plan);
    layout(k, &plan);
    arena_init(&k->arena, plan.used);
    layout(k, &k->arena);
    return k;
}

void
kv_free(struct kvcache *k)
{
    if (k == NULL)
        return;
    arena_release(&k->arena);
    free(k);
}

/* y [n,ldy] = x [n,cols] w^T, n <= KV_TILE; x has KV_TILE rows, of
 * which those past n are old or zero and give nothing that is read. */
struct matjob {
    struct kvcache *k;
    const struct weight *w;
    const float *x;
    float *y;
    size_t n, ldy;
};

static void
mat_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;
    const size_t r0 = task * KV_PART, K = j->w->cols;
    const size_t n = r0 + KV_PART <= j->w->rows ? KV_PART : j->w->rows - r0;
    const float *p = weight_f32(j->w);

    if (p != NULL) {
        p += r0 * K;
    } else {
        weight_rows(j->w, r0, n, j->k->wide[worker]);
        p = j->k->wide[worker];
    }
    if (j->n == 1) {
        for (size_t i = 0; i < n; i++)
            j->y[r0 + i] = kern.dotf(p + i * K, j->x, K);
    } else {
        kern.gemm_nt(KV_TILE, n, K, j->x, K, p, K, GEMM_SET, j->y + r0, j->ldy);
    }
}

static void
multiply(struct kvcache *k, const struct weight *w, const float *x, size_t n,
    float *y, size_t ldy)
{
    struct matjob j = { k, w, x, y, n, ldy };

    pool_run(k->f->pool, (w->rows + KV_PART - 1) / KV_PART, mat_task, &j);
}

struct attjob {
    struct kvcache *k;
    const float *key, *val; /* [T,KV*D] of the block */
    size_t n;               /* new tokens, already in the cache */
    size_t window;          /* 0: none */
};

/* One head of one new token. */
static void
att_task(void *ctx, size_t task, size_t worker)
{
    const struct attjob *j = ctx;
    struct kvcache *k = j->k;
    const struct config *c = &k->f->m->c;
    const size_t D = c->D, kv = c->KV * D, h = task % c->H, t = task / c->H;
    const size_t at = h / (c->H / c->KV) * D, end = k->n + t + 1;
    const size_t from = j->window && end > j->window ? end - j->window : 0;
    const size_t n = end - from;
    const float *q = k->qkv + t * qkv_width(c) + h * D;
    float *p = k->p + worker * k->T, *o = k->att + t * c->H * D + h * D;
    float sum, scale = attn_scale(c);

    if (scale == 0.0f)
        scale = 1.0f / sqrtf((float)D);
    for (size_t i = 0; i < n; i++)
        p[i] = kern.dotf(q, j->key + (from + i) * kv + at, D) * scale;
    sum = (float)kern.exp(p, p, n, kern.max(p, n), 1.0f);
    memset(o, 0, D * sizeof *o);
    for (size_t i = 0; i < n; i++)
        kern.axpy(o, p[i] / sum, j->val + (from + i) * kv + at, D);
}

static void
kv_block(struct kvcache *k, size_t i, size_t n)
{
    const struct config *c = &k->f->m->c;
    const struct block *b = &k->f->m->block[i];
    const size_t d = c->d, kv = c->KV * c->D, wide = qkv_width(c);
    float *key = k->k + i * k->T * kv, *val = k->v + i * k->T * kv;
    const float *const *vec = k->f->vec + i * W_N;
    struct attjob j = { k, key, val, n, config_window(c, i) };
    const float *cs = j.window > 0 ? k->cs_local : k->cs;

    for (size_t t = 0; t < n; t++)
        kern.rmsnorm(k->xn + t * d, k->x + t * d, vec[W_NORM1], d,
            (float)c->eps);
    multiply(k, &b->w[W_Q], k->xn, n, k->qkv, wide);
    multiply(k, &b->w[W_K], k->xn, n, k->qkv + c->H * c->D, wide);
    multiply(k, &b->w[W_V], k->xn, n, k->qkv + c->H * c->D + kv, wide);
    for (size_t t = 0; t < n; t++) {
        float *q = k->qkv + t * wide;

        finish_qkv(c, vec, cs + (k->n + t) * c->D, q, NULL);
        memcpy(key + (k->n + t) * kv, q + c->H * c->D, kv * sizeof *q);
        memcpy(val + (k->n + t) * kv, q + c->H * c->D + kv, kv * sizeof *q);
    }
    pool_run(k->f->pool, n * c->H, att_task, &j);
    multiply(k, &b->w[W_O], k->att, n, k->out, d);
    for (size_t t = 0; t < n; t++) {
        if (vec[W_NORM_ATT] != NULL)
            kern.rmsnorm(k->out + t * d, k->out + t * d, vec[W_NORM_ATT], d,
                (float)c->eps);
        kern.add(k->x + t * d, k->x + t * d, k->out + t * d, d);
        kern.rmsnorm(k->xn + t * d, k->x + t * d, vec[W_NORM2], d,
            (float)c->eps);
    }
    multiply(k, &b->w[W_GATE], k->xn, n, k->gate, b->mlp);
    multiply(k, &b->w[W_UP], k->xn, n, k->up, b->mlp);
    for (size_t t = 0; t < n; t++)
        (k->f->family->gemma ? kern.gelu_mul
                             : kern.silu_mul)(k->gate + t * b->mlp,
            k->gate + t * b->mlp, k->up + t * b->mlp, b->mlp);
    multiply(k, &b->w[W_DOWN], k->gate, n, k->out, d);
    for (size_t t = 0; t < n; t++) {
        if (vec[W_NORM_MLP] != NULL)
            kern.rmsnorm(k->out + t * d, k->out + t * d, vec[W_NORM_MLP], d,
                (float)c->eps);
        kern.add(k->x + t * d, k->x + t * d, k->out + t * d, d);
    }
}

int
kv_step(struct kvcache *k, const uint32_t *ids, size_t n, float *logits)
{
    const struct model *m = k->f->m;
    const size_t d = m->c.d;

    if (n == 0 || n > k->T - k->n)
        return -1;
    while (n > 0) {
        const size_t now = n < KV_TILE ? n : KV_TILE;

        for (size_t t = 0; t < now; t++) {
            weight_rows(&m->embed, ids[t], 1, k->x + t * d);
            kern.scale(k->x + t * d, k->f->embed_scale, d);
        }
        for (size_t i = 0; i < m->c.L; i++)
            kv_block(k, i, now);
        k->n += now;
        ids += now;
        n -= now;
        if (n == 0) {
            kern.rmsnorm(k->xn, k->x + (now - 1) * d, k->f->norm, d,
                (float)m->c.eps);
            multiply(k, &m->head, k->xn, 1, logits, m->c.V);
        }
    }
    return 0;
}
