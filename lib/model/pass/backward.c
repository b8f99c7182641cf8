/* The trained model's forward and backward passes; see backward.h. */
#include "model/pass/backward.h"
#include "kern/kern.h"
#include "kern/rounding.h"
#include "model/files/adapter.h"
#include "model/pass/attention.h"
#include "model/pass/balance.h"
#include "model/files/fetch.h"
#include "model/pass/backward_block.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = VEC_COLS }; /* columns of a task over all tokens */
/* KEPT: arrays of list_kept; the first ROUNDED of them may be kept as bf16. */
enum { ROUNDED = 10, KEPT = 12, HALF_TASK = 1 << 16, WIDE = 1024 };

/* Activations kept from a forward pass over blocks from..to-1. */
struct lane {
    size_t from, to;
    float **hidden;    /* [L+1] inputs of blocks; [to]: the last one's output */
    struct acts *kept; /* [L] each block's activations; unless `how` is 0, all
                        * blocks use one set of buffers */
    uint16_t *(*half)[ROUNDED]; /* [L] each block's arrays as bf16 */
};

struct bwd {
    struct tmodel *t;
    struct fwd *f;
    size_t B, T;
    int how; /* BWD_* */
    struct arena arena;
    struct lane *lane; /* one for each piece ahead in each stage */
    size_t *lane_at;   /* [stages.per+1] first lane of a stage */
    size_t nlane;
    struct lane at;               /* lane of the pass under way */
    double lost, whole;           /* sums of squares: of rounding errors, of the
                                   * rounded values */
    double grad_lost, grad_whole; /* as lost and whole, for gradients */
    float *final;                 /* [B,T,d] final states; then their
                                   * gradient */
    struct grads g;
    struct dropout drop; /* dropout of adapters */
    int dropping;        /* 1: training (bwd_dropout) */
    float *rstd;         /* [B,T] 1/rms in the final norm, times logit_factor */
    float *mean; /* [B,T] means in the final norm; NULL: it is RMSNorm */
    struct balance balance;
    int balanced; /* 1: count the tokens of experts (bwd_keep_balance) */
    /* A tied embedding's gradient as input, held back.  slot[id]: 1 + the row
     * of `held` that collects the id's gradient; 0: the id has not occurred. */
    uint32_t *slot, *id; /* [V] both; id: of each row of `held` */
    float *held;         /* [V,d], touched only as far as used */
    size_t nheld;
};

/* An array of activations that is kept for the backward pass. */
struct kept_array {
    float **at; /* address of the member of struct acts */
    size_t n;   /* numbers in the array */
};

/* List the arrays that a block of shape b, with adapters of `low` ranks, keeps
 * for `rows` padded rows and `tokens` tokens.  x2, the stream between the two
 * branches, is kept if both are there and the second one reads it, which it
 * does not in a parallel block.  With one branch x2 is the block's input or
 * output. */
static void
list_kept(const struct config *c, size_t rows, size_t tokens,
    const struct block_shape *b, size_t low, struct acts *k,
    struct kept_array list[KEPT])
{
    const struct widths w = widths_of(c, b);
    const int mixer = w.att > 0, ffn = w.up + w.route > 0;
    const size_t post = has_post_norm(c) ? c->d : 0;
    const struct kept_array all[KEPT] = {
        { &k->qkv, rows * w.qkv },
        { &k->att, rows * w.att },
        { &k->x2, mixer && ffn && !config_parallel(c) ? tokens * c->d : 0 },
        { &k->gate, rows * w.gate },
        { &k->up, rows * w.up },
        { &k->raw, rows * w.raw },
        { &k->o, mixer ? rows * post : 0 },
        { &k->down, ffn ? rows * post : 0 },
        { &k->low, rows * low },
        { &k->latent, rows * w.latent },
        { &k->lse, rows * w.lse },
        { &k->route, rows * w.route },
    };

    memcpy(list, all, sizeof all);
}

static void
alloc_floats(const struct kept_array *list, size_t n, struct arena *a)
{
    for (size_t i = 0; i < n; i++)
        *list[i].at =
            list[i].n > 0 ? arena_alloc(a, list[i].n, sizeof(float)) : NULL;
}

/* Allocate the gradients that both branches have apart from each other. */
static void
lay_branch(struct branch_grads *g, const struct config *c, size_t rows,
    size_t tokens, struct arena *a)
{
    g->y = arena_alloc(a, rows * c->d, sizeof(float));
    g->rstd = arena_alloc(a, tokens, sizeof(float));
    if (family_of(c)->layer_norm)
        g->mean = arena_alloc(a, tokens, sizeof(float));
    g->out = g->y;
    if (!has_added(c))
        return;
    g->out = arena_alloc(a, rows * c->d, sizeof(float));
    g->rstd_after = arena_alloc(a, tokens, sizeof(float));
}

static void
alloc_grads(struct grads *g, const struct fwd *f, size_t rows, size_t tokens,
    struct arena *a)
{
    const struct config *c = &f->m->c;
    const struct block_shape all = shape_of_all(f->m);
    const struct widths w = widths_of(c, &all);

    lay_branch(&g->mixer, c, rows, tokens, a);
    lay_branch(&g->ffn, c, rows, tokens, a);
    g->mixer.again = arena_alloc(a, rows * c->d, sizeof(float));
    g->ffn.xn = arena_alloc(a, rows * c->d, sizeof(float));
    g->dx = arena_alloc(a, tokens * c->d, sizeof(float));
    g->datt = arena_alloc(a, rows * w.att, sizeof(float));
    g->dqkv = arena_alloc(a, rows * w.qkv, sizeof(float));
    parts_lay_back(g, f, rows, tokens, a);
}

/* Allocate what adapters need besides kept activations. */
static void
alloc_adapter(struct bwd *b, size_t rows, size_t widest, struct arena *a)
{
    const struct model *m = &b->t->m;
    struct grads *g = &b->g;

    g->frozen = b->t->adapter != NULL;
    if (!g->frozen)
        return;
    g->low = arena_alloc(a, rows * low_widest(m), sizeof(float));
    if (b->t->adapter->dora) {
        g->again = arena_alloc(a, rows * widest, sizeof(float));
        if (!(has_added(&m->c))) {
            g->ffn.out = arena_alloc(a, rows * m->c.d, sizeof(float));
            g->mixer.out = arena_alloc(a, rows * m->c.d, sizeof(float));
        }
    }
    b->drop.p = b->t->adapter->dropout;
    if (!(b->drop.p > 0.0))
        return;
    b->drop.row = arena_alloc(a, b->B, sizeof *b->drop.row);
    b->drop.room = lay_each(a, pool_size(b->f->pool), CHUNK * widest);
}

/* Does this rank hold back a tied embedding's gradient as input? */
static int
holds_embed(const struct bwd *b)
{
    return b->t->m.c.tied && b->t->stages.rank == 0 && b->t->adapter == NULL;
}

/* Allocate a lane.  room: the set of activation buffers that all blocks share
 * if activations are recomputed or kept as bf16. */
static void
alloc_lane(const struct bwd *b, struct lane *l, const struct acts *room,
    struct arena *a)
{
    const struct model *m = &b->t->m;
    const size_t tokens = b->B * b->T, rows = b->B * cut_of(b->T).Tp;

    for (size_t i = l->from; i <= l->to; i++)
        l->hidden[i] = arena_alloc(a, tokens * m->c.d, sizeof(float));
    for (size_t i = l->from; i < l->to; i++) {
        const struct block_shape shape = block_shape(&m->block[i]);
        struct kept_array list[KEPT];

        l->kept[i] = *room;
        list_kept(&m->c, rows, tokens, &shape, low_width(&m->block[i]),
            &l->kept[i], list);
        if (b->how == 0)
            alloc_floats(list, KEPT, a);
        if (b->how != BWD_BF16)
            continue;
        for (size_t k = 0; k < ROUNDED; k++)
            l->half[i][k] = arena_alloc(a, list[k].n, sizeof(uint16_t));
        alloc_floats(list + ROUNDED, KEPT - ROUNDED, a);
    }
}

/* The most rows or columns of a matrix of any block. */
static size_t
widest_side(const struct model *m)
{
    const size_t q = m->c.H * m->c.D, mlp = model_widest(m);
    const size_t most = q > m->c.d ? q : m->c.d;

    return mlp > most ? mlp : most;
}

/* Allocate all of b from a; run twice, first to count. */
static void
alloc_bwd(struct bwd *b, struct arena *a)
{
    const struct model *m = &b->t->m;
    const struct config *c = &m->c;
    const size_t tokens = b->B * b->T, rows = b->B * cut_of(b->T).Tp;
    const size_t mlp = model_widest(m);
    const struct block_shape all = shape_of_all(m);
    struct acts room = { 0 };
    struct kept_array list[KEPT];

    list_kept(c, rows, tokens, &all, low_widest(m), &room, list);
    if (b->how != 0)
        alloc_floats(list, KEPT, a);
    for (size_t i = 0; i < b->nlane; i++)
        alloc_lane(b, &b->lane[i], &room, a);
    if (stages_last(&b->t->stages)) {
        b->final = arena_alloc(a, tokens * c->d, sizeof(float));
        b->rstd = arena_alloc(a, tokens, sizeof(float));
        if (family_of(c)->layer_norm)
            b->mean = arena_alloc(a, tokens, sizeof(float));
    }
    alloc_grads(&b->g, b->f, rows, tokens, a);
    if (c->router.n > 0)
        balance_lay(&b->balance, &c->router, b->B, a);
    alloc_adapter(b, rows, widest_side(m), a);
    b->g.row = arena_alloc(a, pool_size(b->f->pool) * mlp, sizeof(float));
    b->g.widest = mlp;
    b->g.mixer.xn = b->f->out;
    b->g.ffn.again = b->f->xn;
    if (holds_embed(b)) {
        b->slot = arena_alloc(a, c->V, sizeof *b->slot);
        b->id = arena_alloc(a, c->V, sizeof *b->id);
        b->held = arena_alloc(a, c->V * c->d, sizeof(float));
    }
}

/* Allocate this rank's lanes and set the blocks of each. */
static void
make_lanes(struct bwd *b)
{
    const struct pipeline *s = &b->t->stages;
    const size_t L = b->t->m.c.L;
    size_t n = 0;

    b->lane_at = xcalloc(s->per + 1, sizeof *b->lane_at);
    for (size_t k = 0; k < s->per; k++)
        b->lane_at[k + 1] = b->lane_at[k] + stages_ahead(s, k * s->n + s->rank);
    b->nlane = b->lane_at[s->per];
    b->lane = xcalloc(b->nlane, sizeof *b->lane);
    for (size_t k = 0; k < s->per; k++) {
        for (; n < b->lane_at[k + 1]; n++) {
            struct lane *l = &b->lane[n];

            l->from = stages_cut(s, L, k * s->n + s->rank);
            l->to = stages_cut(s, L, k * s->n + s->rank + 1);
            l->hidden = xcalloc(L + 1, sizeof *l->hidden);
            l->kept = xcalloc(L, sizeof *l->kept);
            l->half = xcalloc(L, sizeof *l->half);
        }
    }
}

struct bwd *
bwd_new(struct tmodel *t, struct pool *pool, size_t B, size_t T, int how)
{
    struct bwd *b = xcalloc(1, sizeof *b);
    struct arena plan;

    b->t = t;
    b->B = B;
    b->T = T;
    b->how = how;
    b->f = fwd_make(&t->m, pool, B, T, FWD_TRAIN);
    make_lanes(b);
    arena_plan(&plan);
    alloc_bwd(b, &plan);
    arena_init(&b->arena, plan.used);
    alloc_bwd(b, &b->arena);
    b->at = b->lane[0];
    return b;
}

size_t
bwd_stage(struct bwd *b, size_t stage, size_t piece)
{
    const size_t *at = b->lane_at + stage / b->t->stages.n;
    const size_t lane = at[0] + piece % (at[1] - at[0]);

    assert(stage % b->t->stages.n == b->t->stages.rank);
    b->at = b->lane[lane];
    return lane;
}

size_t
bwd_lanes(const struct bwd *b)
{
    return b->nlane;
}

float *
bwd_input(struct bwd *b)
{
    return b->at.hidden[b->at.from];
}

const float *
bwd_output(const struct bwd *b)
{
    return b->at.hidden[b->at.to];
}

float *
bwd_dx(struct bwd *b)
{
    return b->g.dx;
}

void
bwd_free(struct bwd *b)
{
    if (b == NULL)
        return;
    fwd_free(b->f);
    rooms_free(b->g.room);
    arena_release(&b->arena);
    for (size_t i = 0; i < b->nlane; i++) {
        free(b->lane[i].hidden);
        free(b->lane[i].kept);
        free(b->lane[i].half);
    }
    free(b->lane);
    free(b->lane_at);
    free(b);
}

size_t
bwd_bytes(const struct bwd *b, size_t tokens)
{
    const struct config *c = &b->t->m.c;

    return b->arena.cap + fwd_bytes(b->f) -
        (holds_embed(b) && tokens < c->V
                ? (c->V - tokens) * c->d * sizeof(float)
                : 0);
}

static void
init_run(struct bwd *b, struct run *u, size_t i, const struct rows *r)
{
    run_init(u, b->f, i, r, NULL);
    u->a = b->at.kept[i];
    u->drop = b->dropping ? &b->drop : NULL;
    run_streams(u, b->at.hidden[i], b->at.hidden[i + 1]);
}

void
bwd_dropout(struct bwd *b, const uint64_t *key)
{
    b->dropping = key != NULL && b->drop.p > 0.0;
    b->drop.key = key != NULL ? *key : 0;
}

double
bwd_rounding(const struct bwd *b)
{
    return b->whole > 0.0 ? sqrt(b->lost / b->whole) : 0.0;
}

double
bwd_grad_rounding(const struct bwd *b)
{
    return b->grad_whole > 0.0 ? sqrt(b->grad_lost / b->grad_whole) : 0.0;
}

/* half += g, rounded, then g = 0; WIDE elements at a time. */
static void
fold_task(void *ctx, size_t task, size_t worker)
{
    const struct group *g = ctx;
    const size_t end =
        (task + 1) * HALF_TASK < g->n ? (task + 1) * HALF_TASK : g->n;
    float y[WIDE];

    (void)worker;
    for (size_t i = task * HALF_TASK; i < end; i += WIDE) {
        const size_t n = end - i < WIDE ? end - i : WIDE;

        kern.widen_bf16(y, g->half + i, n);
        kern.add(y, y, g->g + i, n);
        kern.narrow_bf16(g->half + i, y, n);
        memset(g->g + i, 0, n * sizeof *y);
    }
}

/* Add the gradients of this call of bwd_backward to a block's bf16 sums. */
static void
fold(struct bwd *b, struct group *g)
{
    if (!(b->grad_whole > 0.0))
        rounding_bf16(g->g, g->n, &b->grad_lost, &b->grad_whole);
    pool_run(b->f->pool, (g->n + HALF_TASK - 1) / HALF_TASK, fold_task, g);
}

/* back 0: round n floats at x to bf16 at half; back 1: widen those at half to
 * x.  half NULL: either way round x in place. */
struct halfjob {
    float *x;
    uint16_t *half;
    size_t n;
    int back;
};

static void
half_task(void *ctx, size_t task, size_t worker)
{
    const struct halfjob *j = ctx;
    const size_t at = task * HALF_TASK;
    const size_t n = j->n - at < HALF_TASK ? j->n - at : HALF_TASK;
    uint16_t some[WIDE];

    (void)worker;
    if (j->half != NULL && j->back) {
        kern.widen_bf16(j->x + at, j->half + at, n);
    } else if (j->half != NULL) {
        kern.narrow_bf16(j->half + at, j->x + at, n);
    } else {
        for (size_t i = 0; i < n; i += WIDE) {
            const size_t k = n - i < WIDE ? n - i : WIDE;

            kern.narrow_bf16(some, j->x + at + i, k);
            kern.widen_bf16(j->x + at + i, some, k);
        }
    }
}

/* Convert block i's kept activations to bf16 (back: to fp32 again).  With
 * BWD_RECOMPUTE, which keeps no bf16, round them in place. */
static void
half_block(struct bwd *b, size_t i, const struct rows *r, int back)
{
    const struct block_shape shape = block_shape(&b->t->m.block[i]);
    struct kept_array list[KEPT];

    list_kept(&b->t->m.c, r->B * cut_of(r->T).Tp, r->B * r->T, &shape,
        low_width(&b->t->m.block[i]), &b->at.kept[i], list);
    for (size_t k = 0; k < ROUNDED; k++) {
        const size_t n = list[k].n;
        struct halfjob j = { *list[k].at, b->at.half[i][k], n, back };

        pool_run(b->f->pool, (n + HALF_TASK - 1) / HALF_TASK, half_task, &j);
    }
}

void
bwd_forward(struct bwd *b, const struct rows *r)
{
    const size_t L = b->t->m.c.L;
    struct run u;

    assert(r->B <= b->B && r->T <= b->T);
    if (b->balanced)
        balance_begin(&b->balance, r->B);
    if (b->dropping)
        dropout_rows(&b->drop, r);
    if (b->at.from == 0)
        fwd_embed(b->f, r, b->at.hidden[0]);
    else
        fill_vectors(b->f);
    for (size_t i = b->at.from; i < b->at.to; i++) {
        block_now(b->f, i, 1 << PANELS_OUT);
        fetch_next(&b->t->m, i + 1 < L ? i + 1 : fetch_head(&b->t->m));
        init_run(b, &u, i, r);
        block_forward(&u);
        fetch_done(&b->t->m, i);
        if (b->balanced && u.b->experts > 0)
            balance_add(&b->balance, r, u.c.Tp, u.a.route,
                u.vec[W_ROUTER_SHIFT], b->f->pool);
        if (u.b->mlp > 0 && (b->how & BWD_BF16) && !(b->whole > 0.0))
            rounding_bf16(u.a.gate != NULL ? u.a.gate : u.a.up,
                r->B * u.c.Tp * u.b->mlp, &b->lost, &b->whole);
        if (b->how == BWD_BF16)
            half_block(b, i, r, 0);
    }
    if (b->at.to == L)
        fwd_norm(b->f, r, b->at.hidden[L], b->final);
}

void
bwd_keep_balance(struct bwd *b)
{
    b->balanced = b->t->m.c.router.n > 0;
    b->g.dp = b->balanced ? b->balance.dp : NULL;
}

double
bwd_balance(struct bwd *b, size_t row, double weight)
{
    return b->balanced ? balance_loss(&b->balance, row, weight) : 0;
}

const float *
bwd_hidden(const struct bwd *b, size_t i)
{
    assert(i >= b->at.from && i < b->at.to);
    return b->at.hidden[i + 1];
}

float *
bwd_final(struct bwd *b)
{
    return b->final;
}

float *
bwd_spare(struct bwd *b, enum bwd_spare which)
{
    return which == BWD_SPARE_X ? b->g.mixer.again : b->g.mixer.y;
}

/* Hand over the gradients of group i: this call of bwd_backward adds no more to
 * them. */
static void
complete(struct bwd *b, size_t i)
{
    struct tmodel *t = b->t;

    if (t->group[i].half != NULL)
        fold(b, &t->group[i]);
    else if (t->take != NULL)
        t->take(t->take_ctx, i);
}

struct bwd_job {
    struct bwd *b;
    const struct rows *r;
};

static void
final_task(void *ctx, size_t task, size_t worker)
{
    const struct bwd_job *j = ctx;
    const struct config *c = &j->b->t->m.c;
    const size_t n = j->r->B * j->r->T, d = c->d;
    const size_t end = (task + 1) * CHUNK < n ? (task + 1) * CHUNK : n;

    (void)worker;
    for (size_t t = task * CHUNK; t < end; t++) {
        float *dx = j->b->g.dx + t * d, mean;

        if (j->r->first[t] == UINT32_MAX) {
            memset(dx, 0, d * sizeof *dx);
            continue;
        }
        /* rstd takes the factor too, as the weight's gradient is computed from
         * it */
        j->b->rstd[t] = j->b->f->logit_factor *
            stream_norm_bwd(j->b->f, dx, j->b->final + t * d,
                j->b->at.hidden[c->L] + t * d, j->b->f->norm, NULL, &mean);
        if (j->b->mean != NULL)
            j->b->mean[t] = mean;
    }
}

static void
final_weight_task(void *ctx, size_t task, size_t worker)
{
    const struct bwd_job *j = ctx;
    const struct config *c = &j->b->t->m.c;
    const struct group *group = j->b->t->group + c->L;
    struct vec_grad v = { .g = group[OUTER_NORM].g,
        .n = c->d,
        .heads = 1,
        .rstd = j->b->rstd,
        .mean = j->b->mean,
        .ldr = 1,
        .x = j->b->at.hidden[c->L],
        .x_rows = j->r->T,
        .ldx = c->d,
        .dy = j->b->final,
        .dy_rows = j->r->T,
        .lddy = c->d };

    (void)worker;
    vec_grad_add(&v, j->r, task);
    if (j->b->f->norm_bias == NULL)
        return;
    assert(j->b->f->logit_factor == 1.0f); /* dy is not multiplied by it */
    v.g = group[OUTER_NORM_BIAS].g;
    v.rstd = NULL;
    vec_grad_add(&v, j->r, task);
}

/* The row that collects the gradient of an id's embedding. */
static float *
embed_row(const struct bwd *b, uint32_t id)
{
    const size_t d = b->t->m.c.d;

    return b->t->m.c.tied ? b->held + (b->slot[id] - 1) * d
                          : b->t->group[b->t->m.c.L].g + id * d;
}

/* Add the task's columns of every token's gradient to the row of the token's
 * id, in the order of tokens. */
static void
embed_grad_task(void *ctx, size_t task, size_t worker)
{
    const struct bwd_job *j = ctx;
    const size_t d = j->b->t->m.c.d, n = j->r->B * j->r->T;
    const size_t c0 = task * COLS, c1 = c0 + COLS < d ? c0 + COLS : d;

    (void)worker;
    for (size_t t = 0; t < n; t++) {
        if (j->r->first[t] != UINT32_MAX) {
            float *g = embed_row(j->b, j->r->ids[t]) + c0;

            kern.axpy(g, j->b->f->embed_scale, j->b->g.dx + t * d + c0,
                c1 - c0);
        }
    }
}

/* The same for the rows of the tokens' positions. */
static void
position_grad_task(void *ctx, size_t task, size_t worker)
{
    const struct bwd_job *j = ctx;
    const struct rows *r = j->r;
    const struct tmodel *t = j->b->t;
    const size_t d = t->m.c.d, c0 = task * COLS;
    const size_t n = c0 + COLS < d ? COLS : d - c0;

    (void)worker;
    for (size_t i = 0; i < r->B * r->T; i++) {
        if (r->first[i] != UINT32_MAX) {
            float *g = t->group[t->m.c.L + OUTER_POSITIONS].g + c0 +
                position(j->b->f, r, i / r->T, i % r->T) * d;

            kern.add(g, g, j->b->g.dx + i * d + c0, n);
        }
    }
}

/* Give each id of r a row of `held`. */
static void
hold_ids(struct bwd *b, const struct rows *r)
{
    for (size_t t = 0; t < r->B * r->T; t++) {
        if (r->first[t] != UINT32_MAX && b->slot[r->ids[t]] == 0) {
            b->id[b->nheld] = r->ids[t];
            b->slot[r->ids[t]] = (uint32_t)++b->nheld;
        }
    }
}

void
bwd_backward(struct bwd *b, const struct rows *r,
    void (*add)(void *ctx, size_t i, float *dx), void *ctx)
{
    const struct config *c = &b->t->m.c;
    struct pool *pool = b->f->pool;
    const size_t cols = (c->d + COLS - 1) / COLS;
    const int learned = family_has_outer(c, OUTER_POSITIONS);
    struct bwd_job j = { b, r };
    struct run u;

    if (b->at.to == c->L) {
        pool_run(pool, (r->B * r->T + CHUNK - 1) / CHUNK, final_task, &j);
        if (!b->g.frozen)
            pool_run(pool, cols, final_weight_task, &j);
        complete(b, c->L + OUTER_NORM);
        if (family_has_outer(c, OUTER_NORM_BIAS))
            complete(b, c->L + OUTER_NORM_BIAS);
    }
    for (size_t i = b->at.to; i-- > b->at.from;) {
        if (add != NULL)
            add(ctx, i, b->g.dx);
        if (i < b->t->lowest) {
            complete(b, i);
            continue;
        }
        block_now(b->f, i,
            1 << PANELS_BACK | (b->how & BWD_RECOMPUTE ? 1 << PANELS_OUT : 0));
        if (i > b->t->lowest)
            fetch_next(&b->t->m, i - 1);
        init_run(b, &u, i, r);
        if (b->how & BWD_RECOMPUTE)
            block_forward(&u);
        if (b->how & BWD_BF16)
            half_block(b, i, r, 1);
        u.g = &b->g;
        b->g.group = &b->t->group[i];
        block_backward(&u);
        fetch_done(&b->t->m, i);
        complete(b, i);
    }
    if (b->at.from > 0 || b->g.frozen)
        return;
    if (!b->t->group[c->L].frozen) {
        if (c->tied)
            hold_ids(b, r);
        pool_run(pool, cols, embed_grad_task, &j);
    }
    if (learned && !b->t->group[c->L + OUTER_POSITIONS].frozen)
        pool_run(pool, cols, position_grad_task, &j);
    if (b->t->take != NULL) {
        bwd_flush(b);
        complete(b, c->L);
        if (learned)
            complete(b, c->L + OUTER_POSITIONS);
    }
}

void
bwd_flush(struct bwd *b)
{
    const size_t d = b->t->m.c.d;

    for (size_t i = 0; i < b->nheld; i++) {
        float *g = b->t->group[b->t->m.c.L].g + b->id[i] * d;

        kern.add(g, g, b->held + i * d, d);
        memset(b->held + i * d, 0, d * sizeof *g);
        b->slot[b->id[i]] = 0;
    }
    b->nheld = 0;
}
