/*
 * The most probable tokens of a prediction, and its log-sum-exps: see
 * forward.h.  TOP_ROWS predictions at a time: first their logits, a slice of
 * the vocabulary a task; then a row a task.
 *
 * Of a row's logits cut into blocks only the k blocks with the largest maxima
 * can hold one of the k largest (each of the others has k larger ones before
 * it), so a row costs one pass of maxima and a look at k blocks.
 */
#include "model/engine.h"
#include "base/profile.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_ROWS = 128, BLOCK = 64, LINE = 16 };

/* One row of one slice: maximum; sums of exp(z - max), of
 * exp((z - max)/tau), and of the latter times z. */
struct part {
    float max;
    double sum, soft, mean;
};

struct head_top {
    const struct model *m;
    struct pool *pool;
    size_t k, V, ld, nslice;
    struct arena arena;
    float *z;               /* [TOP_ROWS,ld]; ld: rows begin in different
                             * sets of the cache */
    float *pad;             /* [TOP_ROWS,d] the last rows, padded */
    float *zero;            /* [HEAD_SLICE] */
    struct part *part;      /* [nslice,TOP_ROWS] */
    uint64_t *heap;         /* [workers,2,k] */
    /* the tile at hand */
    struct fwd *f;
    const float *h;
    size_t n;
    float s;                /* 1 / tau */
    uint32_t *ids;
    float *logp, *lse;
    double *self;
};

static void
layout(struct head_top *t, struct arena *a)
{
    t->z = arena_alloc(a, TOP_ROWS * t->ld, sizeof *t->z);
    t->pad = arena_alloc(a, TOP_ROWS * t->m->c.d, sizeof *t->pad);
    t->zero = arena_alloc(a, HEAD_SLICE, sizeof *t->zero);
    t->part = arena_alloc(a, t->nslice * TOP_ROWS, sizeof *t->part);
    t->heap = arena_alloc(a, pool_size(t->pool) * 2 * t->k, sizeof *t->heap);
}

struct head_top *
head_top_new(const struct model *m, struct pool *pool, size_t k)
{
    struct head_top *t = xcalloc(1, sizeof *t);
    struct arena count;

    assert(k > 0 && k <= m->c.V);
    t->m = m;
    t->pool = pool;
    t->k = k;
    t->V = m->c.V;
    t->ld = (t->V + LINE - 1) / LINE * LINE + LINE;
    t->nslice = (t->V + HEAD_SLICE - 1) / HEAD_SLICE;
    arena_plan(&count);
    layout(t, &count);
    arena_init(&t->arena, count.used);
    layout(t, &t->arena);
    return t;
}

void
head_top_free(struct head_top *t)
{
    if (t == NULL)
        return;
    arena_release(&t->arena);
    free(t);
}

size_t
head_top_bytes(const struct head_top *t)
{
    return t->arena.cap;
}

/* ---- a heap of the k largest keys, the smallest of them at the root ---- */

/* Larger for a larger z, and for a lower number where z is the same. */
static uint64_t
key_of(float z, size_t i)
{
    uint32_t u;

    z += 0.0f;                  /* -0 is 0 */
    memcpy(&u, &z, sizeof u);
    u = u >> 31 ? ~u : u | 0x80000000u;
    return (uint64_t)u << 32 | (UINT32_MAX - (uint32_t)i);
}

static uint32_t
number_of(uint64_t key)
{
    return UINT32_MAX - (uint32_t)key;
}

/* h[i] is put in its place below i. */
static void
sink(uint64_t *h, size_t n, size_t i)
{
    const uint64_t x = h[i];

    for (size_t c; (c = 2 * i + 1) < n; i = c) {
        c += c + 1 < n && h[c + 1] < h[c];
        if (h[c] >= x)
            break;
        h[i] = h[c];
    }
    h[i] = x;
}

/* Take `key` into the heap of n, which holds at most k; how many are in it. */
static size_t
take(uint64_t *h, size_t n, size_t k, uint64_t key)
{
    if (n == k) {
        if (key > h[0]) {
            h[0] = key;
            sink(h, n, 0);
        }
        return n;
    }
    h[n] = key;
    for (size_t i = n; i > 0 && h[i] < h[(i - 1) / 2]; i = (i - 1) / 2) {
        h[i] = h[(i - 1) / 2];
        h[(i - 1) / 2] = key;
    }
    return n + 1;
}

/* A heap becomes a list, the largest first. */
static void
sort_heap(uint64_t *h, size_t n)
{
    while (n > 1) {
        const uint64_t least = h[0];

        h[0] = h[--n];
        h[n] = least;
        sink(h, n, 0);
    }
}

/* ---- tasks ---- */

static void
slice_task(void *ctx, size_t s, size_t worker)
{
    struct head_top *t = ctx;
    const size_t d = t->m->c.d, v0 = s * HEAD_SLICE;
    const size_t n = v0 + HEAD_SLICE <= t->V ? HEAD_SLICE : t->V - v0;
    const float *w = head_slice(t->f, v0, n, worker);
    double begin = profile_begin();

    kern.gemm_nt(TOP_ROWS, n, d, t->h, d, w, d, GEMM_SET, t->z + v0, t->ld);
    profile_end("head logits", begin, 2.0 * (double)(TOP_ROWS * n) *
        (double)d, 0.0);
    begin = profile_begin();
    for (size_t r = 0; r < t->n; r++) {
        const float *z = t->z + r * t->ld + v0;
        struct part *p = t->part + s * TOP_ROWS + r;

        p->max = kern.max(z, n);
        p->sum = kern.expsum(z, n, p->max, 1.0f);
        p->soft = kern.kl_sums(z, t->zero, n, p->max, t->s, &p->mean);
    }
    profile_end("head sums", begin, 0.0, 4.0 * (double)(t->n * n));
}

/* Log-sum-exps of row r and its sum of p log p. */
static void
gather(const struct head_top *t, size_t r, float lse[2], double *self)
{
    double max = -INFINITY, sum = 0.0, soft = 0.0, mean = 0.0;

    for (size_t s = 0; s < t->nslice; s++)
        max = fmax(max, t->part[s * TOP_ROWS + r].max);
    for (size_t s = 0; s < t->nslice; s++) {
        const struct part *p = t->part + s * TOP_ROWS + r;
        const double down = p->max - max, scale = exp(down * t->s);

        sum += p->sum * exp(down);
        soft += p->soft * scale;
        mean += p->mean * scale;
    }
    lse[0] = (float)(max + log(sum));
    lse[1] = (float)(max * t->s + log(soft));
    *self = mean / soft * t->s - (max * t->s + log(soft));
}

static void
row_task(void *ctx, size_t r, size_t worker)
{
    struct head_top *t = ctx;
    const float *z = t->z + r * t->ld;
    uint64_t *block = t->heap + worker * 2 * t->k, *top = block + t->k;
    size_t nb = 0, n = 0;
    const double begin = profile_begin();

    for (size_t v = 0; v < t->V; v += BLOCK)
        nb = take(block, nb, t->k, key_of(kern.max(z + v,
            t->V - v < BLOCK ? t->V - v : BLOCK), v / BLOCK));
    for (size_t b = 0; b < nb; b++) {
        const size_t v0 = (size_t)number_of(block[b]) * BLOCK;
        const size_t v1 = t->V - v0 < BLOCK ? t->V : v0 + BLOCK;

        for (size_t v = v0; v < v1; v++)
            n = take(top, n, t->k, key_of(z[v], v));
    }
    sort_heap(top, n);
    gather(t, r, t->lse + 2 * r, t->self + r);
    for (size_t j = 0; j < t->k; j++) {
        const uint32_t id = number_of(top[j]);

        t->ids[r * t->k + j] = id;
        t->logp[r * t->k + j] = fminf(z[id] - t->lse[2 * r], 0.0f);
    }
    profile_end("head top", begin, 0.0, 4.0 * (double)t->V);
}

void
head_top_rows(struct head_top *t, struct fwd *f, const float *h, size_t n,
    double tau, uint32_t *ids, float *logp, float *lse, double *self)
{
    const size_t d = t->m->c.d;

    assert(tau > 0.0);
    t->f = f;
    t->s = (float)(1.0 / tau);
    for (size_t at = 0; at < n; at += TOP_ROWS) {
        t->n = n - at < TOP_ROWS ? n - at : TOP_ROWS;
        t->h = h + at * d;
        if (t->n < TOP_ROWS) {
            memcpy(t->pad, t->h, t->n * d * sizeof *h);
            memset(t->pad + t->n * d, 0, (TOP_ROWS - t->n) * d * sizeof *h);
            t->h = t->pad;
        }
        t->ids = ids + at * t->k;
        t->logp = logp + at * t->k;
        t->lse = lse + at * 2;
        t->self = self + at;
        pool_run(t->pool, t->nslice, slice_task, t);
        pool_run(t->pool, t->n, row_task, t);
    }
}
