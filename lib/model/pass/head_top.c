/*
 * The most probable tokens of a prediction, tokens drawn from it, and its
 * log-sum-exps: see head_top.h.  TOP_ROWS predictions are done at a time: first
 * their logits, a task for each slice of the vocabulary; then the rest, a task
 * for each row.
 *
 * A row's logits are cut into blocks.  The k blocks with the largest maxima
 * contain the k largest logits: their maxima are k logits, none of which is
 * exceeded in another block.  So a row costs one pass for maxima and a search
 * of k blocks.
 */
#include "model/pass/head_top.h"
#include "kern/kern.h"
#include "model/files/fetch.h"
#include "base/profile.h"
#include "model/pass/head_impl.h"
#include "model/pass/heap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_ROWS = 128, BLOCK = 64, LINE = 16 };

/* Results of a slice for a row.  max: the largest logit.  sum, soft, mean: the
 * sums of exp(z - max), of exp((z - max)/tau) and of exp((z - max)/tau) z. */
struct slice_top {
    float max;
    double sum, soft, mean;
};

struct head_top {
    const struct model *m;
    struct pool *pool;
    size_t k, draws, V, ld, nslice;
    struct arena arena;
    float *z;               /* [TOP_ROWS,ld] logits; ld is such that rows begin
                             * in different sets of the processor's cache */
    float *pad;             /* [TOP_ROWS,d] rows that do not follow one another
                             * in h, or are fewer than TOP_ROWS */
    float *zero;            /* [HEAD_SLICE] */
    struct slice_top *part; /* [nslice,TOP_ROWS] */
    uint64_t *heap;         /* [workers,2,k] */
    float *terms;           /* [workers,HEAD_SLICE] */
    const uint32_t *among;  /* [namong] ids to choose from; NULL: all */
    size_t namong;          /* number of ids to choose from */
    float *chosen;          /* [workers,namong] logits of `among` */
    /* of the tile that is being done */
    struct fwd *f;
    const float *h;
    size_t n;
    size_t at[TOP_ROWS]; /* numbers of the rows in the caller's arrays */
    float s;             /* 1 / tau */
    struct head_targets targets;
};

static void
lay_top(struct head_top *t, struct arena *a)
{
    t->z = arena_alloc(a, TOP_ROWS * t->ld, sizeof *t->z);
    t->pad = arena_alloc(a, TOP_ROWS * t->m->c.d, sizeof *t->pad);
    t->zero = arena_alloc(a, HEAD_SLICE, sizeof *t->zero);
    t->part = arena_alloc(a, t->nslice * TOP_ROWS, sizeof *t->part);
    t->heap = arena_alloc(a, pool_size(t->pool) * 2 * t->k, sizeof *t->heap);
    t->terms =
        arena_alloc(a, pool_size(t->pool) * HEAD_SLICE, sizeof *t->terms);
}

struct head_top *
head_top_new(const struct model *m, struct pool *pool, size_t k, size_t draws)
{
    struct head_top *t = xcalloc(1, sizeof *t);
    struct arena count;

    assert(k <= m->c.V && draws <= UINT16_MAX && k + draws > 0);
    t->m = m;
    t->pool = pool;
    t->k = k;
    t->draws = draws;
    t->V = t->namong = m->c.V;
    t->ld = (t->V + LINE - 1) / LINE * LINE + LINE;
    t->nslice = (t->V + HEAD_SLICE - 1) / HEAD_SLICE;
    arena_plan(&count);
    lay_top(t, &count);
    arena_init(&t->arena, count.used);
    lay_top(t, &t->arena);
    return t;
}

void
head_top_among(struct head_top *t, const uint32_t *among, size_t n)
{
    assert(t->k <= n && t->chosen == NULL);
    t->among = among;
    t->namong = n;
    t->chosen = xreallocarray(NULL, pool_size(t->pool) * n, sizeof *t->chosen);
}

void
head_top_free(struct head_top *t)
{
    if (t == NULL)
        return;
    free(t->chosen);
    arena_release(&t->arena);
    free(t);
}

size_t
head_top_bytes(const struct head_top *t)
{
    return t->arena.cap +
        (t->among != NULL ? pool_size(t->pool) * t->namong * sizeof *t->chosen
                          : 0);
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
    weight_add_bias(&t->m->head, v0, n, TOP_ROWS, t->z + v0, t->ld);
    profile_end("head logits", begin, 2.0 * (double)(TOP_ROWS * n) * (double)d,
        0.0);
    begin = profile_begin();
    for (size_t r = 0; r < t->n; r++) {
        float *z = t->z + r * t->ld + v0;
        struct slice_top *p = t->part + s * TOP_ROWS + r;

        if (t->m->c.final_cap > 0.0)
            kern.softcap(z, (float)t->m->c.final_cap, n);
        p->max = kern.max(z, n);
        p->sum = kern.expsum(z, n, p->max, 1.0f);
        p->soft = kern.kl_sums(z, t->zero, n, p->max, t->s, &p->mean);
    }
    profile_end("head sums", begin, 0.0, 4.0 * (double)(t->n * n));
}

/* Sums over all slices for a row. */
struct whole {
    double max, sum, soft, mean;
};

static struct whole
gather_slices_top(const struct head_top *t, size_t r)
{
    struct whole w = { -INFINITY, 0.0, 0.0, 0.0 };

    for (size_t s = 0; s < t->nslice; s++)
        w.max = fmax(w.max, t->part[s * TOP_ROWS + r].max);
    for (size_t s = 0; s < t->nslice; s++) {
        const struct slice_top *p = t->part + s * TOP_ROWS + r;
        const double down = p->max - w.max, scale = exp(down * t->s);

        w.sum += p->sum * exp(down);
        w.soft += p->soft * scale;
        w.mean += p->mean * scale;
    }
    return w;
}

/* Row r's logits of the tokens to choose from. */
static const float *
logits_among(const struct head_top *t, size_t r, size_t worker)
{
    const float *z = t->z + r * t->ld;
    float *y = t->chosen + worker * t->namong;

    if (t->among == NULL)
        return z;
    for (size_t i = 0; i < t->namong; i++)
        y[i] = z[t->among[i]];
    return y;
}

static void
find_top(struct head_top *t, size_t r, size_t worker)
{
    const float *z = logits_among(t, r, worker);
    const size_t V = t->namong, i = t->at[r];
    uint64_t *block = t->heap + worker * 2 * t->k, *top = block + t->k;
    size_t nb = 0, n = 0;

    for (size_t v = 0; v < V; v += BLOCK)
        nb = heap_keep(block, nb, t->k,
            heap_key(kern.max(z + v, V - v < BLOCK ? V - v : BLOCK),
                v / BLOCK));
    for (size_t b = 0; b < nb; b++) {
        const size_t v0 = (size_t)heap_number(block[b]) * BLOCK;
        const size_t v1 = V - v0 < BLOCK ? V : v0 + BLOCK;

        for (size_t v = v0; v < v1; v++)
            n = heap_keep(top, n, t->k, heap_key(z[v], v));
    }
    heap_sort(top, n);
    for (size_t j = 0; j < t->k; j++) {
        const uint32_t id = heap_number(top[j]);

        t->targets.ids[i * t->k + j] = id;
        t->targets.logp[i * t->k + j] =
            fminf(z[id] - t->targets.lse[2 * i], 0.0f);
    }
}

/* Count a draw of token v; n: the number of different tokens so far, none of
 * which is above v.  Returns the new n. */
static size_t
drawn(uint32_t *ids, uint16_t *count, size_t n, size_t v)
{
    if (n == 0 || ids[n - 1] != v) {
        ids[n] = (uint32_t)v;
        count[n++] = 0;
    }
    count[n - 1]++;
    return n;
}

/* Draw row r's tokens.  Only slices that contain a point are read.  Their terms
 * are summed again, and by rounding this sum may end before the point: then the
 * slice's last token with a term above 0 is drawn. */
static void
draw_tokens(struct head_top *t, size_t r, const struct whole *w, size_t worker)
{
    const double step = w->soft / (double)t->draws;
    uint32_t *ids = t->targets.drawn + t->at[r] * t->draws;
    uint16_t *count = t->targets.count + t->at[r] * t->draws;
    float *term = t->terms + worker * HEAD_SLICE;
    double before = 0.0, u = t->targets.u[t->at[r]];
    size_t n = 0, i = 0;

    memset(ids, 0, t->draws * sizeof *ids);
    memset(count, 0, t->draws * sizeof *count);
    for (size_t s = 0; s < t->nslice && i < t->draws; s++) {
        const struct slice_top *p = t->part + s * TOP_ROWS + r;
        const double scale = exp((p->max - w->max) * t->s);
        const double end =
            s + 1 < t->nslice ? before + p->soft * scale : INFINITY;
        const size_t v0 = s * HEAD_SLICE;
        const size_t cols = t->V - v0 < HEAD_SLICE ? t->V - v0 : HEAD_SLICE;
        double at = before;
        size_t last = 0;

        if (((double)i + u) * step < end)
            kern.exp(term, t->z + r * t->ld + v0, cols, p->max, t->s);
        for (size_t v = 0;
             v < cols && i < t->draws && ((double)i + u) * step < end; v++) {
            at += term[v] * scale;
            last = term[v] > 0.0f ? v : last;
            for (; i < t->draws && ((double)i + u) * step < fmin(at, end); i++)
                n = drawn(ids, count, n, v0 + v);
        }
        for (; i < t->draws && ((double)i + u) * step < end; i++)
            n = drawn(ids, count, n, v0 + last);
        before = end;
    }
}

static void
row_task(void *ctx, size_t r, size_t worker)
{
    struct head_top *t = ctx;
    const double begin = profile_begin();
    const struct whole w = gather_slices_top(t, r);
    const double lse = w.max * t->s + log(w.soft);
    const struct head_targets *to = &t->targets;
    const size_t i = t->at[r];

    to->lse[2 * i] = (float)(w.max + log(w.sum));
    to->lse[2 * i + 1] = (float)lse;
    to->self[i] = w.mean / w.soft * t->s - lse;
    if (to->next != NULL)
        to->next_logp[i] =
            fminf(t->z[r * t->ld + to->next[i]] - to->lse[2 * i], 0.0f);
    if (t->k > 0)
        find_top(t, r, worker);
    if (t->draws > 0)
        draw_tokens(t, r, &w, worker);
    profile_end("head top", begin, 0.0, 4.0 * (double)t->V);
}

/* Prediction i has no loss: set its targets as if all V logits were equal. */
static void
set_unwanted(const struct head_top *t, size_t i)
{
    const struct head_targets *to = &t->targets;
    const float lse = (float)log((double)t->V);

    to->lse[2 * i] = to->lse[2 * i + 1] = lse;
    to->self[i] = -lse;
    for (size_t j = 0; j < t->k; j++) {
        to->ids[i * t->k + j] = (uint32_t)j;
        to->logp[i * t->k + j] = -lse;
    }
    if (t->draws > 0) {
        memset(to->drawn + i * t->draws, 0, t->draws * sizeof *to->drawn);
        memset(to->count + i * t->draws, 0, t->draws * sizeof *to->count);
    }
}

/* Choose the next TOP_ROWS wanted rows of h [n,d], from row *i on, and set the
 * targets of the rows between them.  *i becomes the row to go on with. */
static void
gather_wanted(struct head_top *t, const float *h, size_t n, size_t *i)
{
    const uint8_t *wanted = t->targets.wanted;
    const size_t d = t->m->c.d;

    for (t->n = 0; *i < n && t->n < TOP_ROWS; ++*i)
        if (wanted == NULL || wanted[*i])
            t->at[t->n++] = *i;
        else
            set_unwanted(t, *i);
    t->h = t->pad;
    if (t->n == TOP_ROWS && t->at[t->n - 1] - t->at[0] == TOP_ROWS - 1) {
        t->h = h + t->at[0] * d;
        return;
    }
    for (size_t r = 0; r < t->n; r++)
        memcpy(t->pad + r * d, h + t->at[r] * d, d * sizeof *h);
    memset(t->pad + t->n * d, 0, (TOP_ROWS - t->n) * d * sizeof *h);
}

void
head_top_rows(struct head_top *t, struct fwd *f, const float *h, size_t n,
    double tau, const struct head_targets *targets)
{
    size_t i = 0;

    assert(tau > 0.0);
    assert(targets->wanted == NULL || targets->next == NULL);
    fetch_now(f->m, fetch_head(f->m));
    t->f = f;
    t->s = (float)(1.0 / tau);
    t->targets = *targets;
    while (i < n) {
        gather_wanted(t, h, n, &i);
        if (t->n == 0)
            break;
        pool_run(t->pool, t->nslice, slice_task, t);
        pool_run(t->pool, t->n, row_task, t);
    }
    fetch_done(f->m, fetch_head(f->m));
}
