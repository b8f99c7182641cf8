/* Work space of the forward pass; see forward_impl.h. */
#include "model/pass/forward.h"
#include "kern/attn.h"
#include "kern/kern.h"
#include "model/files/adapter.h"
#include "model/config/family.h"
#include "model/files/fetch.h"
#include "model/pass/forward_impl.h"
#include "model/pass/head_impl.h"
#include "model/pass/run.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static size_t
round_to_tile(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

struct cut
cut_of(size_t T)
{
    const size_t n = (T + FWD_TILE - 1) / FWD_TILE;
    const size_t tile = round_to_tile((T + n - 1) / n, ATTN_TILE);

    return (struct cut){ tile, n, n * tile };
}

/* Each part copies its input again, so parts are wide: up to 1024 columns whose
 * fp32 weights take 3.5 MB, which fit the shared cache, or up to 192 columns of
 * any size (768 in bfloat16, where copying takes more of the time).  A product
 * of 128 columns or more has at least two parts, so that two threads can share
 * a tile. */
size_t
part_cols(size_t N, size_t K)
{
    const size_t least = kern_rounds() ? 768 : 192;
    size_t want = 884736 / K, n;

    want = want < least ? least : want > 1024 ? 1024 : want;
    n = (N + want - 1) / want;
    if (n < 2 && N >= 128)
        n = 2;
    return round_to_tile((N + n - 1) / n, 16);
}

size_t
part_count(size_t N, size_t K)
{
    const size_t nb = N > 0 ? part_cols(N, K) : 1;

    return (N + nb - 1) / nb;
}

size_t
query_heads(const struct config *c, size_t groups)
{
    return groups * (c->H / c->KV);
}

void *
room_make(void **room, size_t bytes)
{
    if (*room == NULL)
        *room = xcalloc(1, bytes);
    return *room;
}

void
rooms_free(void **room)
{
    for (size_t i = 0; i < ROOMS; i++)
        free(room[i]);
}

int
has_qk_norm(const struct config *c)
{
    return block_tensor_name(c, W_NQ) != NULL;
}

int
has_post_norm(const struct config *c)
{
    return block_tensor_name(c, W_NORM_ATT) != NULL;
}

int
has_added(const struct config *c)
{
    return has_post_norm(c) || factor_of(c->residual_scale) != 1.0f;
}

float
factor_of(double x)
{
    return x > 0.0 ? (float)x : 1.0f;
}

/* Floats of scratch that a worker needs to widen weights of blocks. */
static size_t
wide_floats(const struct model *m)
{
    for (size_t i = 0; i < m->c.L * W_N; i++) {
        const struct weight *w = &m->block[i / W_N].w[i % W_N];

        if (!block_is_vector((int)(i % W_N)) && w->rows > 0 &&
            w->data != NULL && weight_f32(w) == NULL)
            return WEIGHT_PIECE;
    }
    return 0;
}

/* A vector, or the positions, in fp32: the stored values, if they stay in
 * memory and are used as they are; else room for a copy, which fill_vector
 * makes.  NULL: another rank has the block. */
static const float *
alloc_vector(const struct weight *w, int stays, struct arena *a)
{
    const float *p = stays && w->add == 0.0f ? weight_f32(w) : NULL;

    return p != NULL || w->data == NULL
        ? p
        : arena_alloc(a, w->rows * w->cols, sizeof *p);
}

/* Copy w to v, unless v is the stored values. */
static void
fill_vector(const struct weight *w, const float *v)
{
    float *copy = (float *)(uintptr_t)v;

    if (v == NULL || (const unsigned char *)v == w->data)
        return;
    weight_rows(w, 0, w->rows, copy);
    for (size_t i = 0; w->add != 0.0f && i < w->cols; i++)
        copy[i] += w->add;
}

static void
fill_block_vectors(struct fwd *f, size_t i)
{
    for (size_t k = 0; k < W_N; k++)
        fill_vector(&f->m->block[i].w[k], f->vec[i * W_N + k]);
}

/* Blocks that are fetched are skipped: their vectors are not in memory yet, and
 * block_now copies them. */
void
fill_vectors(struct fwd *f)
{
    for (size_t i = 0; i < f->m->c.L && f->m->fetch == NULL; i++)
        fill_block_vectors(f, i);
    fill_vector(&f->m->norm, f->norm);
    fill_vector(&f->m->norm_bias, f->norm_bias);
    fill_vector(&f->m->positions, f->positions);
    if (f->logit_factor == 1.0f)
        return;
    kern.scale((float *)(uintptr_t)f->norm, f->logit_factor, f->m->c.d);
    if (f->norm_bias != NULL)
        kern.scale((float *)(uintptr_t)f->norm_bias, f->logit_factor,
            f->m->c.d);
}

void
block_now(struct fwd *f, size_t i, unsigned ways)
{
    fetch_now(f->m, i);
    if (f->m->fetch != NULL)
        fill_block_vectors(f, i);
    panels_fill(f, i, ways);
}

static void
alloc_vectors(struct fwd *f, struct arena *a)
{
    const struct model *m = f->m;

    f->vec = arena_alloc(a, m->c.L * W_N, sizeof *f->vec);
    for (size_t i = 0; i < m->c.L * W_N; i++) {
        const struct weight *w = &m->block[i / W_N].w[i % W_N];
        const int t = (int)(i % W_N);
        const float *p =
            w->rows == 1 && (block_is_vector(t) || t == W_SHARED_GATE)
            ? alloc_vector(w, m->fetch == NULL, a)
            : NULL;

        if (f->vec != NULL) /* NULL while planning */
            f->vec[i] = p;
    }
    f->norm = alloc_vector(&m->norm, f->logit_factor == 1.0f, a);
    f->norm_bias = alloc_vector(&m->norm_bias, f->logit_factor == 1.0f, a);
    f->positions = alloc_vector(&m->positions, 1, a);
}

float **
lay_each(struct arena *a, size_t n, size_t floats)
{
    float **p = arena_alloc(a, n, sizeof *p);

    for (size_t i = 0; i < n; i++) {
        float *q = arena_alloc(a, floats, sizeof *q);

        if (p != NULL)
            p[i] = q;
    }
    return p;
}

/* Allocate f's arrays from a; run twice, first to count. */
static void
lay_fwd(struct fwd *f, struct arena *a, int parts)
{
    const struct config *c = &f->m->c;
    const size_t rows = f->B * cut_of(f->T).Tp, mlp = model_widest(f->m);
    const struct block_shape all = shape_of_all(f->m);
    const struct widths w = widths_of(c, &all);

    f->xn = arena_alloc(a, rows * c->d, sizeof *f->xn);
    f->out = arena_alloc(a, rows * c->d, sizeof *f->out);
    if (config_parallel(c))
        f->mid = arena_alloc(a, f->B * f->T * c->d, sizeof *f->mid);
    if (parts & FWD_ACTS) {
        f->a.qkv = arena_alloc(a, rows * w.qkv, sizeof(float));
        f->a.att = arena_alloc(a, rows * w.att, sizeof(float));
        f->a.lse = arena_alloc(a, rows * w.lse, sizeof(float));
        f->a.gate = arena_alloc(a, rows * mlp, sizeof(float));
        f->a.up = arena_alloc(a, rows * mlp, sizeof(float));
        if (low_widest(f->m) > 0)
            f->a.low = arena_alloc(a, rows * low_widest(f->m), sizeof(float));
        f->act = f->a.gate;
    } else {
        f->act = arena_alloc(a, rows * mlp, sizeof(float));
    }
    if (w.gated > 0)
        f->gated = arena_alloc(a, rows * w.gated, sizeof(float));
    parts_lay(f, rows, parts, a);
    alloc_vectors(f, a);
    f->wide_n = wide_floats(f->m);
    if (parts & (FWD_HEAD | FWD_SLICES))
        head_wide(f);
    if (parts & FWD_HEAD)
        head_layout(f, a);
    f->wide = lay_each(a, pool_size(f->pool), f->wide_n);
    f->scratch = lay_each(a, pool_size(f->pool), w.scratch);
}

struct fwd *
fwd_make(const struct model *m, struct pool *pool, size_t B, size_t T,
    int parts)
{
    struct fwd *f = xcalloc(1, sizeof *f);
    const char *why = kern_init();
    struct arena plan;

    assert(why == NULL);
    (void)why;
    assert(B > 0 && T > 0 && T < UINT32_MAX);
    f->m = m;
    f->family = family_of(&m->c);
    f->embed_scale =
        f->family->gemma ? sqrtf((float)m->c.d) : factor_of(m->c.embed_scale);
    f->logit_factor = config_logit_factor(&m->c);
    f->pool = pool;
    f->B = B;
    f->T = T;
    f->ranks = 1;
    arena_plan(&plan);
    lay_fwd(f, &plan, parts);
    arena_init(&f->arena, plan.used);
    lay_fwd(f, &f->arena, parts);
    if (parts & (FWD_HEAD | FWD_SLICES | FWD_TRAIN))
        panels_init(f, parts & FWD_TRAIN ? PANELS_WAYS : 1, 0);
    fill_vectors(f);
    return f;
}

void
fwd_hold(struct fwd *f)
{
    panels_init(f, 1, 1);
}

struct fwd *
fwd_new(const struct model *m, struct pool *pool, size_t B, size_t T)
{
    return fwd_make(m, pool, B, T, FWD_ACTS | FWD_HEAD);
}

struct fwd *
fwd_new_blocks(const struct model *m, struct pool *pool, size_t B, size_t T)
{
    return fwd_make(m, pool, B, T, FWD_ACTS | FWD_SLICES);
}

void
fwd_free(struct fwd *f)
{
    if (f == NULL)
        return;
    free(f->context);
    free(f->context_at);
    rooms_free(f->room);
    panels_release(f);
    arena_release(&f->arena);
    free(f);
}

void
fwd_stems(struct fwd *f, const uint32_t *stem, const uint32_t *nstem)
{
    f->stem = stem;
    f->nstem = nstem;
}

void
fwd_tap(struct fwd *f, void (*fn)(void *ctx, const struct fwd_tapped *t),
    void *ctx)
{
    f->tap = fn;
    f->tap_ctx = ctx;
}

void
fwd_tap_experts(struct fwd *f,
    void (*fn)(void *ctx, const struct fwd_routed *t), void *ctx)
{
    f->routed = fn;
    f->routed_ctx = ctx;
}

void
fwd_sum(struct fwd *f, void (*fn)(void *ctx, float *x, size_t n), void *ctx)
{
    f->sum = fn;
    f->sum_ctx = ctx;
}

void
fwd_context_split(size_t T, size_t n, size_t *at)
{
    const struct cut c = cut_of(T);

    for (size_t r = 0; r <= n; r++) {
        at[r] = c.n * r / n * c.tile;
        at[r] = at[r] < T ? at[r] : T;
    }
}

void
fwd_context(struct fwd *f, size_t rank, size_t n,
    void (*fn)(void *ctx, float *x, const size_t *at), void *ctx)
{
    const struct config *c = &f->m->c;

    assert(f->gather == NULL && rank < n);
    f->rank = rank;
    f->ranks = n;
    f->gather = fn;
    f->gather_ctx = ctx;
    f->context_bytes = cut_of(f->T).Tp * 2 * c->KV * c->D * sizeof *f->context;
    f->context = xmalloc(f->context_bytes);
    f->context_at = xcalloc(n + 1, sizeof *f->context_at);
}

size_t
fwd_bytes(const struct fwd *f)
{
    return f->arena.cap + f->panels.arena.cap + f->context_bytes;
}
