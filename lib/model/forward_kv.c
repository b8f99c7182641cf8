/*
 * Generation with caches of keys and values.  A row is a token of some text;
 * KV_TILE rows make a tile.  In a tile the tokens of prompts come first, then
 * single next tokens of texts.
 *
 * A part of a weight is widened once for all rows of a tile.  Rows of prompts
 * are multiplied as in forward_block.c.  The others are multiplied by
 * kern.dots, which is as fast as weights can be read unless there are many
 * rows.
 */
#include "model/forward_kv.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/forward.h"
#include "model/forward_block.h"
#include "model/forward_impl.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* KV_TILE: tokens in a tile.  KV_PART: rows of a weight in a task.  KV_FEW: for
 * at most so many tokens weights are not widened. */
enum { KV_TILE = 256, KV_PART = 32, KV_FEW = 4 };

struct kvcache {
    struct fwd *f;
    size_t slots, T; /* texts, capacity of each */
    struct arena arena;
    size_t *n;    /* [slots] tokens in the cache */
    float *k, *v; /* [L][slots,KV,T,D], KV of the block; k is rotated */
    size_t *at;   /* [L] offset of a block's part in k and v */
    /* a tile of rows */
    size_t *slot, *pos;   /* [KV_TILE] the row's text, its position in it */
    size_t *last_of;      /* [KV_TILE] index, in the call, of the text whose
                           * last token the row is; SIZE_MAX: it is not a last
                           * token */
    size_t rows, fed;     /* rows in the tile; how many of them, the first ones,
                           * are of prompts */
    float *x, *xn, *out;  /* [KV_TILE,d] */
    float *last;          /* [slots,d] final states whose logits are wanted */
    float *qkv, *att;     /* [KV_TILE,(H+2KV)D], [KV_TILE,H*D] */
    float *gate, *up;     /* [KV_TILE,mlp] */
    float *p;             /* [threads,H/KV,T] weights of attention */
    float *cs, *cs_local; /* [T,D] angles, as in struct fwd */
    float **wide;         /* [threads] KV_PART widened rows */
};

static void
lay_cache(struct kvcache *k, struct arena *a)
{
    const struct model *m = k->f->m;
    const struct config *c = &m->c;
    const size_t threads = pool_size(k->f->pool), mlp = model_widest(m);
    size_t cols = c->d > c->H * c->D ? c->d : c->H * c->D;

    cols = mlp > cols ? mlp : cols;
    k->n = arena_alloc(a, k->slots, sizeof *k->n);
    k->k = arena_alloc(a, kv_cache_bytes(k) / 2, 1);
    k->v = arena_alloc(a, kv_cache_bytes(k) / 2, 1);
    k->at = arena_alloc(a, c->L, sizeof *k->at);
    for (size_t i = 0, at = 0; k->at != NULL && i < c->L; i++) {
        k->at[i] = at;
        at += k->slots * m->block[i].groups * k->T * c->D;
    }
    k->slot = arena_alloc(a, KV_TILE, sizeof *k->slot);
    k->pos = arena_alloc(a, KV_TILE, sizeof *k->pos);
    k->last_of = arena_alloc(a, KV_TILE, sizeof *k->last_of);
    k->x = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->xn = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->out = arena_alloc(a, KV_TILE * c->d, sizeof(float));
    k->last = arena_alloc(a, k->slots * c->d, sizeof(float));
    k->qkv = arena_alloc(a, KV_TILE * qkv_width(c, c->KV), sizeof(float));
    k->att = arena_alloc(a, KV_TILE * c->H * c->D, sizeof(float));
    k->gate = arena_alloc(a, KV_TILE * mlp, sizeof(float));
    k->up = arena_alloc(a, KV_TILE * mlp, sizeof(float));
    k->p = arena_alloc(a, threads * (c->H / c->KV) * k->T, sizeof(float));
    angles(k->f, k->T, a, &k->cs, &k->cs_local);
    k->wide = arena_alloc(a, threads, sizeof *k->wide);
    for (size_t i = 0; i < threads; i++) {
        float *p = arena_alloc(a, KV_PART * cols, sizeof *p);

        if (k->wide != NULL)
            k->wide[i] = p;
    }
}

struct kvcache *
kv_new(const struct model *m, struct pool *pool, size_t slots, size_t T)
{
    struct kvcache *k = xcalloc(1, sizeof *k);
    struct arena plan;

    assert(slots > 0 && T > 0 && m->fetch == NULL);
    k->f = fwd_make(m, pool, 1, 1, 0);
    k->slots = slots;
    k->T = T;
    arena_plan(&plan);
    lay_cache(k, &plan);
    arena_init(&k->arena, plan.used);
    lay_cache(k, &k->arena);
    return k;
}

void
kv_free(struct kvcache *k)
{
    if (k == NULL)
        return;
    arena_release(&k->arena);
    fwd_free(k->f);
    free(k);
}

size_t
kv_cache_bytes(const struct kvcache *k)
{
    const struct model *m = k->f->m;
    size_t n = 0;

    for (size_t i = 0; i < m->c.L; i++)
        n += 2 * m->block[i].groups * m->c.D * sizeof(float);
    if (size_mul(n, k->slots, &n) < 0 || size_mul(n, k->T, &n) < 0)
        mem_exhausted("caches of keys and values");
    return n;
}

size_t
kv_bytes(const struct kvcache *k)
{
    return k->arena.cap + fwd_bytes(k->f);
}

void
kv_clear(struct kvcache *k, size_t slot)
{
    assert(slot < k->slots);
    k->n[slot] = 0;
}

/* ---- products ---- */

/* y [n,ldy] = x [n,cols] w^T; the first `fed` rows of x are of prompts. */
struct matjob {
    struct kvcache *k;
    const struct weight *w;
    const float *x;
    float *y;
    size_t n, fed, ldy;
};

/* Compute the products with rows of the weight from r0 on, at most KV_PART. */
static void
mat_part(const struct matjob *j, size_t r0, size_t worker)
{
    const size_t K = j->w->cols, few = j->n - j->fed;
    const size_t n = r0 + KV_PART <= j->w->rows ? KV_PART : j->w->rows - r0;
    const float *p = weight_f32(j->w), *x = j->x + j->fed * K;
    float *y = j->y + j->fed * j->ldy + r0;
    double begin = profile_begin();
    int done = 0;

    if (p != NULL) {
        p += r0 * K;
    } else if (j->fed == 0 && few <= KV_FEW) {
        done = weight_dots(j->w, r0, n, few, x, y, j->ldy) == 0;
    }
    if (p == NULL && !done) {
        weight_rows(j->w, r0, n, j->k->wide[worker]);
        p = j->k->wide[worker];
        profile_end("text widening", begin, 0.0, 4.0 * (double)(n * K));
        begin = profile_begin();
    }
    if (j->fed > 0)
        kern.gemm_nt(j->fed, n, K, j->x, K, p, K, GEMM_SET, j->y + r0, j->ldy);
    if (few > 0 && !done)
        kern.dots(few, n, K, x, p, y, j->ldy);
    profile_end("text products", begin, 2.0 * (double)(j->n * n) * (double)K,
        0.0);
}

static size_t
kv_parts(const struct weight *w)
{
    return (w->rows + KV_PART - 1) / KV_PART;
}

/* Multiply one x by several weights in turn; a weight without rows ends the
 * list. */
static void
mat_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;

    for (; task >= kv_parts(j->w); j++)
        task -= kv_parts(j->w);
    mat_part(j, task * KV_PART, worker);
}

static void
multiply_kv(struct kvcache *k, const struct matjob *j, size_t n)
{
    size_t tasks = 0;

    for (size_t i = 0; i < n; i++)
        tasks += kv_parts(j[i].w);
    pool_run(k->f->pool, tasks, mat_task, (void *)(uintptr_t)j);
}

/* Compute a part of gate and up, then act from both, in gate. */
static void
mlp_task(void *ctx, size_t task, size_t worker)
{
    const struct matjob *j = ctx;
    const size_t r0 = task * KV_PART, mlp = j->w->rows;
    const size_t n = r0 + KV_PART <= mlp ? KV_PART : mlp - r0;

    mat_part(j, r0, worker);
    mat_part(j + 1, r0, worker);
    for (size_t t = 0; t < j->n; t++) {
        float *g = j[0].y + t * mlp + r0;

        (j->k->f->family->gemma ? kern.gelu_mul : kern.silu_mul)(g, g,
            j[1].y + t * mlp + r0, n);
    }
}

/* ---- attention ---- */

struct attjob {
    struct kvcache *k;
    float *key, *val;  /* [slots,KV,T,D] of the block */
    size_t window;     /* 0: none */
    size_t H, KV, qkv; /* heads of the block, width of a row of qkv */
};

/* Compute attention for one row and the query heads that share a KV head. */
static void
att_task(void *ctx, size_t task, size_t worker)
{
    const struct attjob *j = ctx;
    struct kvcache *k = j->k;
    const struct config *c = &k->f->m->c;
    const size_t D = c->D, G = j->H / j->KV, h = task % j->KV, t = task / j->KV;
    const size_t end = k->pos[t] + 1;
    const size_t from = j->window && end > j->window ? end - j->window : 0;
    const size_t n = end - from;
    const size_t at = ((k->slot[t] * j->KV + h) * k->T + from) * D;
    const float scale =
        attn_scale(c) == 0.0f ? 1.0f / sqrtf((float)D) : attn_scale(c);
    float *p = k->p + worker * G * k->T;
    const double begin = profile_begin();

    kern.dots(G, n, D, k->qkv + t * j->qkv + h * G * D, j->key + at, p, k->T);
    for (size_t g = 0; g < G; g++) {
        float *q = p + g * k->T, sum;

        kern.scale(q, scale, n);
        sum = (float)kern.exp(q, q, n, kern.max(q, n), 1.0f);
        kern.scale(q, 1.0f / sum, n);
    }
    kern.gemm_nn(G, D, n, p, k->T, j->val + at, D, GEMM_SET,
        k->att + t * j->H * D + h * G * D, D);
    profile_end("text attention", begin, 4.0 * (double)(G * n * D), 0.0);
}

/* ---- a tile of rows ---- */

/* Finish the rows' q, k and v, and copy k and v to the cache. */
static void
keep_kv(struct kvcache *k, const struct attjob *j, const float *const *vec,
    size_t n)
{
    const struct config *c = &k->f->m->c;
    const float *cs = j->window > 0 ? k->cs_local : k->cs;
    const size_t D = c->D;

    for (size_t t = 0; t < n; t++) {
        float *q = k->qkv + t * j->qkv, *key = q + j->H * D;
        size_t at = (k->slot[t] * j->KV * k->T + k->pos[t]) * D;

        finish_qkv(c, j->KV, vec, cs + k->pos[t] * D, q, NULL);
        for (size_t h = 0; h < j->KV; h++, key += D, at += k->T * D) {
            memcpy(j->key + at, key, D * sizeof *q);
            memcpy(j->val + at, key + j->KV * D, D * sizeof *q);
        }
    }
}

/* xn = norm(x) */
static void
norm(struct kvcache *k, const float *weight)
{
    const size_t d = k->f->m->c.d;

    for (size_t t = 0; t < k->rows; t++)
        kern.rmsnorm(k->xn + t * d, k->x + t * d, weight, d,
            (float)k->f->m->c.eps);
}

/* x += out, or, if the block has a norm there, the norm of out */
static void
add_out(struct kvcache *k, const float *own)
{
    const size_t d = k->f->m->c.d;

    for (size_t t = 0; t < k->rows; t++) {
        float *out = k->out + t * d;

        if (own != NULL)
            kern.rmsnorm(out, out, own, d, (float)k->f->m->c.eps);
        kern.add(k->x + t * d, k->x + t * d, out, d);
    }
}

static void
kv_attention(struct kvcache *k, size_t i)
{
    const struct config *c = &k->f->m->c;
    const struct block *b = &k->f->m->block[i];
    const float *const *vec = k->f->vec + i * W_N;
    const size_t KV = b->groups, wide = qkv_width(c, KV);
    const size_t n = k->rows, fed = k->fed;
    struct attjob att = { k, k->k + k->at[i], k->v + k->at[i],
        config_window(c, i), query_heads(c, KV), KV, wide };
    float *key = k->qkv + att.H * c->D, *val = key + KV * c->D;
    const struct matjob qkv[] = { { k, &b->w[W_Q], k->xn, k->qkv, n, fed,
                                      wide },
        { k, &b->w[W_K], k->xn, key, n, fed, wide },
        { k, &b->w[W_V], k->xn, val, n, fed, wide } };
    const struct matjob o = { k, &b->w[W_O], k->att, k->out, n, fed, c->d };

    norm(k, vec[W_NORM1]);
    multiply_kv(k, qkv, 3);
    keep_kv(k, &att, vec, n);
    pool_run(k->f->pool, n * KV, att_task, &att);
    multiply_kv(k, &o, 1);
    add_out(k, vec[W_NORM_ATT]);
}

static void
kv_mlp(struct kvcache *k, size_t i)
{
    const struct block *b = &k->f->m->block[i];
    const float *const *vec = k->f->vec + i * W_N;
    const size_t d = k->f->m->c.d, n = k->rows, fed = k->fed;
    const struct matjob down = { k, &b->w[W_DOWN], k->gate, k->out, n, fed, d };
    struct matjob mlp[] = { { k, &b->w[W_GATE], k->xn, k->gate, n, fed,
                                b->mlp },
        { k, &b->w[W_UP], k->xn, k->up, n, fed, b->mlp } };

    norm(k, vec[W_NORM2]);
    pool_run(k->f->pool, kv_parts(&b->w[W_GATE]), mlp_task, mlp);
    multiply_kv(k, &down, 1);
    add_out(k, vec[W_NORM_MLP]);
}

/* Run the rows of the tile through all blocks. */
static void
run_tile(struct kvcache *k)
{
    const struct model *m = k->f->m;

    for (size_t i = 0; i < m->c.L; i++) {
        if (m->block[i].groups > 0)
            kv_attention(k, i);
        if (m->block[i].mlp > 0)
            kv_mlp(k, i);
    }
    for (size_t t = 0; t < k->rows; t++)
        if (k->last_of[t] != SIZE_MAX)
            kern.rmsnorm(k->last + k->last_of[t] * m->c.d, k->x + t * m->c.d,
                k->f->norm, m->c.d, (float)m->c.eps);
    k->rows = k->fed = 0;
}

/* Add the tokens of t[i] as rows; run each tile that is full. */
static void
add_kv_rows(struct kvcache *k, const struct kv_more *t, size_t i)
{
    const struct model *m = k->f->m;

    for (size_t at = 0; at < t->n; at++) {
        const size_t row = k->rows++;

        k->slot[row] = t->slot;
        k->pos[row] = k->n[t->slot]++;
        k->last_of[row] = at + 1 == t->n ? i : SIZE_MAX;
        k->fed += t->n > 1;
        weight_rows(&m->embed, t->ids[at], 1, k->x + row * m->c.d);
        kern.scale(k->x + row * m->c.d, k->f->embed_scale, m->c.d);
        if (k->rows == KV_TILE)
            run_tile(k);
    }
}

int
kv_feed(struct kvcache *k, const struct kv_more *t, size_t n, float *logits)
{
    const struct model *m = k->f->m;
    const struct matjob head = { k, &m->head, k->last, logits, n, 0, m->c.V };

    assert(n > 0 && n <= k->slots);
    for (size_t i = 0; i < n; i++) {
        assert(t[i].slot < k->slots);
        if (t[i].n == 0 || t[i].n > k->T - k->n[t[i].slot])
            return -1;
    }
    for (int one = 0; one < 2; one++)
        for (size_t i = 0; i < n; i++)
            if ((t[i].n == 1) == one)
                add_kv_rows(k, &t[i], i);
    if (k->rows > 0)
        run_tile(k);
    multiply_kv(k, &head, 1);
    return 0;
}
