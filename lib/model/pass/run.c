/* The list of stages of a block, and its engine for batches; see run.h. */
#include "model/pass/run.h"
#include "base/profile.h"
#include "kern/kern.h"
#include "model/config/delta_config.h"
#include "model/pass/attention.h"
#include "model/pass/block_adapter.h"
#include "model/pass/conv.h"
#include "model/pass/delta.h"

#include <assert.h>
#include <string.h>

/* ---- batches: tile by tile ---- */

static void
tile_at(const struct run *u, size_t tile, struct run_spot *at)
{
    at->b = tile / u->tiles;
    at->t0 = (u->tile0 + tile % u->tiles) * u->c.tile;
}

static void
stage_done(const struct stage *s, double begin, double rows)
{
    profile_end(s->name, begin, rows * (double)s->flop,
        rows * 4.0 * (double)s->floats);
    if (s->exps > 0)
        profile_exps(s->name, rows * (double)s->exps);
}

/* Pool task: all stages for a tile. */
static void
whole_tile(void *ctx, size_t tile, size_t worker)
{
    struct run *u = ctx;
    struct run_spot at = { .worker = worker };

    tile_at(u, tile, &at);
    for (const struct stage *s = u->stage; s < u->stage + u->nstage; s++) {
        const double t = profile_begin();

        for (at.part = 0; s->low != NULL && at.part < s->n; at.part++)
            s->low(u, s, &at);
        at.part = 0;
        if (s->whole == NULL || !s->whole(u, s, &at))
            for (; at.part < s->parts; at.part++)
                s->part(u, s, &at);
        stage_done(s, t, (double)u->c.tile);
    }
}

/* A stage whose parts are the tasks. */
struct stage_job {
    struct run *u;
    const struct stage *s;
    void (*fn)(struct run *u, const struct stage *s, const struct run_spot *at);
    size_t parts;
};

static void
one_part(void *ctx, size_t task, size_t worker)
{
    const struct stage_job *j = ctx;
    const double t = profile_begin();
    struct run_spot at = { .part = task % j->parts, .worker = worker };

    tile_at(j->u, task / j->parts, &at);
    j->fn(j->u, j->s, &at);
    stage_done(j->s, t, (double)j->u->c.tile / (double)j->parts);
}

static void
batch_stages(struct run *u)
{
    const size_t tiles = u->r->B * u->tiles, threads = pool_size(u->f->pool);

    if (tiles % threads == 0 || tiles >= 4 * threads) {
        pool_run(u->f->pool, u->nstage > 0 ? tiles : 0, whole_tile, u);
        u->nstage = 0;
        return;
    }
    for (const struct stage *s = u->stage; s < u->stage + u->nstage; s++) {
        struct stage_job low = { u, s, s->low, s->n };
        struct stage_job all = { u, s, s->part, s->parts };

        if (s->low != NULL)
            pool_run(u->f->pool, tiles * s->n, one_part, &low);
        pool_run(u->f->pool, tiles * s->parts, one_part, &all);
    }
    u->nstage = 0;
}

static const struct engine batch = { batch_stages, batch_heads, batch_rule,
    batch_before, NULL, batch_angles };

/* ---- the list ---- */

void
run_stages(struct run *u)
{
    u->engine->stages(u);
}

static struct stage *
add_stage(struct run *u, const struct branch *in, const char *name)
{
    struct stage *s = &u->stage[u->nstage++];

    assert(u->nstage <= STAGES);
    *s = (struct stage){ .in = in, .name = name };
    return s;
}

/* Do a stage's row for CHUNK rows of a tile. */
static void
chunk_of_rows(struct run *u, const struct stage *s, const struct run_spot *at)
{
    const size_t t0 = at->t0 + at->part * CHUNK;
    struct run_row r = { .in = s->in, .b = at->b, .worker = at->worker };

    for (r.t = t0; r.t < t0 + CHUNK; r.t++) {
        r.at = r.b * u->c.Tp + r.t;
        r.tok = r.b * u->r->T + r.t;
        r.live = row_live(u->r, r.b, r.t);
        s->row(u, &r);
    }
}

struct stage *
stage_rows(struct run *u, const struct branch *in,
    void (*row)(struct run *u, const struct run_row *r), const char *name,
    size_t floats)
{
    struct stage *s = add_stage(u, in, name);

    s->row = row;
    s->part = chunk_of_rows;
    s->parts = u->c.tile / CHUNK;
    s->floats = floats;
    return s;
}

static size_t
nt_parts(const struct weight *w)
{
    return w->rows > 0 ? part_count(w->rows, w->cols) : 0;
}

/* Set columns n0..n0+n-1 of the results to zero in the tile's rows past its
 * last token. */
static void
clear_padding(const struct run *u, const struct product *p,
    const struct run_spot *at, size_t n0, size_t n)
{
    const size_t row = at->b * u->c.Tp + at->t0;
    const size_t live = tile_live(u->r, at->b, at->t0, u->c.tile);

    for (size_t t = row + live; t < row + u->c.tile; t++)
        memset(p->y + t * p->ldy + n0, 0, n * sizeof *p->y);
}

/* Compute the stage's products of one x for the rows of a tile, if all their
 * matrices have panels: the rows are then rounded once for all products. */
static int
multiply_whole(struct run *u, const struct stage *s, const struct run_spot *at)
{
    const size_t row = at->b * u->c.Tp + at->t0;
    const size_t live = tile_live(u->r, at->b, at->t0, u->c.tile);
    const struct weight *w = u->b->w;
    const size_t K = w[s->p->k].cols;
    struct kern_packed to[PRODUCTS];

    for (size_t i = 0; i < s->n; i++)
        if (s->p[i].x != s->p->x ||
            !panels_have(u->f, u->i, PANELS_OUT, s->p[i].k))
            return 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct product *p = &s->p[i];

        clear_padding(u, p, at, 0, w[p->k].rows);
        to[i] = panels_factor(u->f, u->i, PANELS_OUT, p->k, 0, w[p->k].rows,
            p->y + row * p->ldy, p->ldy);
    }
    if (live == 0)
        return 1;
    kern.gemm_packed(live, K, s->p->x + row * K, K, to, s->n, GEMM_SET);
    for (size_t i = 0; i < s->n; i++) {
        const struct product *p = &s->p[i];

        if (w[p->k].low != NULL)
            low_up(w[p->k].low, low_rows(u, (size_t)p->k, row), low_width(u->b),
                u->c.tile, 0, w[p->k].rows, p->y + row * p->ldy, p->ldy);
    }
    return 1;
}

/* Compute a part of the stage's products for the rows of a tile. */
static void
multiply_tile(struct run *u, const struct stage *s, const struct run_spot *at)
{
    const struct product *p = s->p;
    const struct weight *w = &u->b->w[p->k];
    const size_t row = at->b * u->c.Tp + at->t0;
    const size_t live = tile_live(u->r, at->b, at->t0, u->c.tile);
    size_t part = at->part, nb, n0, n;

    while (part >= nt_parts(w)) {
        part -= nt_parts(w);
        w = &u->b->w[(++p)->k];
    }
    nb = part_cols(w->rows, w->cols);
    n0 = part * nb;
    n = n0 + nb <= w->rows ? nb : w->rows - n0;
    clear_padding(u, p, at, n0, n);
    if (live == 0)
        return;
    if (panels_have(u->f, u->i, PANELS_OUT, p->k)) {
        const struct kern_packed to = panels_factor(u->f, u->i, PANELS_OUT,
            p->k, n0, n, p->y + row * p->ldy + n0, p->ldy);

        kern.gemm_packed(live, w->cols, p->x + row * w->cols, w->cols, &to, 1,
            GEMM_SET);
    } else {
        weight_product(w, n0, n, live, p->x + row * w->cols,
            u->f->wide[at->worker], p->y + row * p->ldy + n0, p->ldy);
    }
    if (w->low != NULL)
        low_up(w->low, low_rows(u, (size_t)p->k, row), low_width(u->b),
            u->c.tile, n0, n, p->y + row * p->ldy + n0, p->ldy);
}

static void
low_products(struct run *u, const struct stage *s, const struct run_spot *at)
{
    const struct product *p = &s->p[at->part];

    low_tile(u, (size_t)p->k, p->x, at->b, at->t0, at->worker);
}

struct stage *
stage_matrices(struct run *u, const struct branch *in, const struct product *p,
    size_t n,
    void (
        *low)(struct run *u, const struct stage *s, const struct run_spot *at),
    const char *name)
{
    struct stage *s = add_stage(u, in, name);

    s->n = n;
    for (size_t i = 0; i < n; i++) {
        const struct weight *w = &u->b->w[p[i].k];

        s->p[i] = p[i];
        s->flop += 2 * w->rows * w->cols;
        if (w->low != NULL)
            s->low = low;
    }
    return s;
}

struct stage *
stage_products(struct run *u, const struct branch *in, const struct product *p,
    size_t n, const char *name)
{
    struct stage *s = stage_matrices(u, in, p, n, low_products, name);

    s->part = multiply_tile;
    s->whole = multiply_whole;
    for (size_t i = 0; i < n; i++)
        s->parts += nt_parts(&u->b->w[p[i].k]);
    return s;
}

void
products_abreast(const struct run *u, int first, size_t n, const float *x,
    float *y, float *dx, struct product *p)
{
    for (size_t i = 0; i < n; i++) {
        p[i] = (struct product){ first + (int)i, x, y, u->qkv, dx };
        y += u->b->w[p[i].k].rows;
    }
}

void
show_input(struct run *u, const struct branch *in, enum fwd_input input,
    const float *x, size_t n)
{
    const struct fwd_tapped t = { u->i, input, u->r, u->c.Tp, n, n, x, in->to };

    if (u->f->tap == NULL)
        return;
    run_stages(u);
    u->f->tap(u->f->tap_ctx, &t);
}

/* ---- blocks ---- */

/* The part of a share (fwd_sum) that has no heads, or no channels, of a block:
 * zeros. */
static void
zero_row(struct run *u, const struct run_row *r)
{
    const size_t d = u->f->m->c.d;

    memset(r->in->out + r->at * d, 0, d * sizeof(float));
}

static void
zero_forward(struct run *u, const struct branch *in)
{
    stage_rows(u, in, zero_row, "forward zeros", u->f->m->c.d);
}

static const struct part part_zero = { .forward = zero_forward };

/* The first that has a block is the block's. */
static const struct part *const mixers[] = { &part_delta, &part_short,
    &part_latent, &part_attention };
static const struct part *const ffns[] = { &part_experts, &part_plain,
    &part_dense };
enum { MIXERS = sizeof mixers / sizeof *mixers };
enum { PARTS = MIXERS + sizeof ffns / sizeof *ffns };

static const struct part *
part_at(size_t i)
{
    return i < MIXERS ? mixers[i] : ffns[i - MIXERS];
}

static const struct part *
part_of(const struct config *c, const struct block_shape *b, size_t i,
    size_t end)
{
    while (i < end && !part_at(i)->has(c, b))
        i++;
    return i < end ? part_at(i) : NULL;
}

struct block_shape
shape_of_all(const struct model *m)
{
    return (struct block_shape){ m->c.KV, model_widest(m), 0, m->c.router.n,
        m->c.conv > 0 };
}

void
raise_to(size_t *n, size_t x)
{
    *n = *n > x ? *n : x;
}

struct widths
widths_of(const struct config *c, const struct block_shape *b)
{
    struct widths w = { 0 };

    for (size_t i = 0; i < PARTS; i++)
        if (part_at(i)->has(c, b))
            part_at(i)->widths(c, b, &w);
    return w;
}

void
parts_lay(struct fwd *f, size_t rows, int parts, struct arena *a)
{
    const struct block_shape all = shape_of_all(f->m);

    for (size_t i = 0; i < PARTS; i++)
        if (part_at(i)->lay != NULL && part_at(i)->has(&f->m->c, &all))
            part_at(i)->lay(f, rows, parts, a);
}

void
parts_lay_back(struct grads *g, const struct fwd *f, size_t rows, size_t tokens,
    struct arena *a)
{
    const struct block_shape all = shape_of_all(f->m);

    for (size_t i = 0; i < PARTS; i++)
        if (part_at(i)->lay_back != NULL && part_at(i)->has(&f->m->c, &all))
            part_at(i)->lay_back(g, f, rows, tokens, a);
}

/* In a share each branch whose norms the block has is there. */
static void
set_branch(const struct run *u, struct branch *in, const struct part *part)
{
    const int shared = u->f->sum != NULL &&
        (u->vec[in->norm] != NULL || u->vec[in->after] != NULL);

    in->part = part == NULL && shared ? &part_zero : part;
    in->xn = u->f->xn;
}

void
run_init(struct run *u, struct fwd *f, size_t i, const struct rows *r,
    const struct engine *engine)
{
    const struct block *b = &f->m->block[i];
    const struct block_shape shape = block_shape(b);

    assert(i < f->m->c.L && r->B <= f->B && r->T <= f->T);
    memset(u, 0, offsetof(struct run, stage));
    u->nstage = 0;
    u->f = f;
    u->engine = engine != NULL ? engine : &batch;
    u->r = r;
    u->c = cut_of(r->T);
    u->tile0 = u->c.n * f->rank / f->ranks;
    u->tiles = u->c.n * (f->rank + 1) / f->ranks - u->tile0;
    u->b = b;
    u->i = i;
    u->KV = b->groups;
    u->H = query_heads(&f->m->c, b->groups);
    u->qkv = widths_of(&f->m->c, &shape).qkv;
    u->vec = f->vec + i * W_N;
    u->act = f->act;
    u->one_norm = config_parallel(&f->m->c) &&
        block_tensor_name(&f->m->c, W_NORM2) == NULL;
    u->mixer = (struct branch){ .norm = W_NORM1,
        .norm_bias = W_BNORM1,
        .bias = W_BO,
        .after = W_NORM_ATT };
    u->ffn = (struct branch){ .norm = u->one_norm ? W_NORM1 : W_NORM2,
        .norm_bias = u->one_norm ? W_BNORM1 : W_BNORM2,
        .bias = W_BDOWN,
        .after = W_NORM_MLP };
    set_branch(u, &u->mixer, part_of(&f->m->c, &shape, 0, MIXERS));
    set_branch(u, &u->ffn, part_of(&f->m->c, &shape, MIXERS, PARTS));
    if (engine == NULL && u->KV > 0)
        batch_sight(u);
}

void
run_streams(struct run *u, const float *x, float *y)
{
    const int both = u->mixer.part != NULL && u->ffn.part != NULL;
    const int parallel = config_parallel(&u->f->m->c);
    float *mid = parallel ? u->f->mid : u->a.x2;

    u->parallel = both && parallel;
    u->mixer.x = u->mixer.to = x;
    u->mixer.y = both ? mid : y;
    u->ffn.to = both ? mid : x;
    u->ffn.x = u->parallel ? x : u->ffn.to;
    u->ffn.y = y;
    u->mixer.out = u->a.o != NULL ? u->a.o : u->f->out;
    u->ffn.out = u->a.down != NULL ? u->a.down : u->f->out;
}
