/* The trained model's forward and backward passes; see backward.h. */
#include "model/backward.h"
#include "model/engine.h"
#include "model/grads.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { COLS = 64 };             /* columns of a task over all tokens */

struct bwd {
    struct tmodel *t;
    struct fwd *f;
    size_t B, T;
    int recompute;
    struct arena arena;
    float **hidden;             /* [L+1] inputs of blocks, output of the last */
    struct acts *kept;          /* [L], all the same when recomputing */
    float *final;
    struct grads g;
    float *rstd;                /* [B,T] of the final norm */
    /* A tied embedding's input side, held back: slot[id] is 1 + the row of
     * `held` that collects its gradient, 0 when the id has not occurred. */
    uint32_t *slot, *id;        /* [V] both; id of each row held */
    float *held;                /* [V,d], touched only as far as used */
    size_t nheld;
};

static void
keep(struct acts *k, const struct config *c, size_t rows, size_t tokens,
    size_t mlp, struct arena *a)
{
    k->qkv = arena_alloc(a, rows * qkv_width(c), sizeof(float));
    k->att = arena_alloc(a, rows * c->H * c->D, sizeof(float));
    k->lse = arena_alloc(a, rows * c->H, sizeof(float));
    k->x2 = arena_alloc(a, tokens * c->d, sizeof(float));
    k->gate = arena_alloc(a, rows * mlp, sizeof(float));
    k->up = arena_alloc(a, rows * mlp, sizeof(float));
}

static void
grads(struct grads *g, const struct config *c, size_t rows, size_t tokens,
    size_t mlp, struct arena *a)
{
    g->dy = arena_alloc(a, rows * c->d, sizeof(float));
    g->dgate = arena_alloc(a, rows * mlp, sizeof(float));
    g->dup = arena_alloc(a, rows * mlp, sizeof(float));
    g->dxn = arena_alloc(a, rows * c->d, sizeof(float));
    g->dx2 = arena_alloc(a, rows * c->d, sizeof(float));
    g->datt = arena_alloc(a, rows * c->H * c->D, sizeof(float));
    g->dqkv = arena_alloc(a, rows * qkv_width(c), sizeof(float));
    g->dk = arena_alloc(a, rows * c->H * c->D, sizeof(float));
    g->dv = arena_alloc(a, rows * c->H * c->D, sizeof(float));
    g->dxn1 = arena_alloc(a, rows * c->d, sizeof(float));
    g->xn1 = arena_alloc(a, rows * c->d, sizeof(float));
    g->rstd1 = arena_alloc(a, tokens, sizeof(float));
    g->rstd2 = arena_alloc(a, tokens, sizeof(float));
    g->dx = arena_alloc(a, tokens * c->d, sizeof(float));
}

/* Run twice: to count, then to allocate. */
static void
layout(struct bwd *b, struct arena *a)
{
    const struct model *m = &b->t->m;
    const struct config *c = &m->c;
    const size_t tokens = b->B * b->T, rows = b->B * cut_of(b->T).Tp;
    size_t mlp = 1;

    for (size_t i = 0; i < c->L; i++)
        mlp = m->block[i].mlp > mlp ? m->block[i].mlp : mlp;
    for (size_t i = 0; i <= c->L; i++)
        b->hidden[i] = arena_alloc(a, tokens * c->d, sizeof(float));
    for (size_t i = 0; i < c->L; i++) {
        if (!b->recompute)
            keep(&b->kept[i], c, rows, tokens, m->block[i].mlp, a);
        else if (i == 0)
            keep(&b->kept[0], c, rows, tokens, mlp, a);
        else
            b->kept[i] = b->kept[0];
    }
    b->final = arena_alloc(a, tokens * c->d, sizeof(float));
    b->rstd = arena_alloc(a, tokens, sizeof(float));
    grads(&b->g, c, rows, tokens, mlp, a);
    if (c->tied) {
        b->slot = arena_alloc(a, c->V, sizeof *b->slot);
        b->id = arena_alloc(a, c->V, sizeof *b->id);
        b->held = arena_alloc(a, c->V * c->d, sizeof(float));
    }
}

struct bwd *
bwd_new(struct tmodel *t, struct pool *pool, size_t B, size_t T,
    int recompute)
{
    const size_t L = t->m.c.L;
    struct bwd *b = xcalloc(1, sizeof *b);
    struct arena plan;

    b->t = t;
    b->B = B;
    b->T = T;
    b->recompute = recompute;
    b->f = fwd_make(&t->m, pool, B, T, 1);
    b->hidden = xcalloc(L + 1, sizeof *b->hidden);
    b->kept = xcalloc(L, sizeof *b->kept);
    arena_plan(&plan);
    layout(b, &plan);
    arena_init(&b->arena, plan.used);
    layout(b, &b->arena);
    return b;
}

void
bwd_free(struct bwd *b)
{
    if (b == NULL)
        return;
    fwd_free(b->f);
    arena_release(&b->arena);
    free(b->hidden);
    free(b->kept);
    free(b);
}

size_t
bwd_bytes(const struct bwd *b)
{
    return b->arena.cap + fwd_bytes(b->f);
}

static void
run_block(struct bwd *b, struct run *u, size_t i, const struct rows *r)
{
    run_init(u, b->f, i, r);
    u->a = b->kept[i];
    u->x = b->hidden[i];
    u->y = b->hidden[i + 1];
}

void
bwd_forward(struct bwd *b, const struct rows *r)
{
    const size_t L = b->t->m.c.L;
    struct run u;

    assert(r->B <= b->B && r->T <= b->T);
    fwd_embed(b->f, r, b->hidden[0]);
    for (size_t i = 0; i < L; i++) {
        run_block(b, &u, i, r);
        block_forward(&u);
    }
    fwd_norm(b->f, r, b->hidden[L], b->final);
}

const float *
bwd_hidden(const struct bwd *b, size_t i)
{
    assert(i < b->t->m.c.L);
    return b->hidden[i + 1];
}

const float *
bwd_final(const struct bwd *b)
{
    return b->final;
}

struct job {
    struct bwd *b;
    const struct rows *r;
    const float *dfinal;
};

static void
final_task(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const struct config *c = &j->b->t->m.c;
    const size_t n = j->r->B * j->r->T, d = c->d;
    const size_t end = (task + 1) * CHUNK < n ? (task + 1) * CHUNK : n;

    (void)worker;
    for (size_t t = task * CHUNK; t < end; t++) {
        float *dx = j->b->g.dx + t * d;

        if (j->r->first[t] == UINT32_MAX)
            memset(dx, 0, d * sizeof *dx);
        else
            j->b->rstd[t] = kern.rmsnorm_bwd(dx, j->dfinal + t * d,
                j->b->hidden[c->L] + t * d, j->b->f->norm[2 * c->L], d,
                (float)c->eps, NULL);
    }
}

static void
final_weight_task(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const struct config *c = &j->b->t->m.c;
    const size_t c0 = task * COLS, c1 = c0 + COLS < c->d ? c0 + COLS : c->d;

    (void)worker;
    norm_weight(j->b->t->group[c->L + 1].g, j->r, c->d, c0, c1, j->b->rstd,
        j->b->hidden[c->L], j->r->T, j->dfinal, j->r->T);
}

/* Where the gradient of an id's embedding is collected. */
static float *
embed_row(const struct bwd *b, uint32_t id)
{
    const size_t d = b->t->m.c.d;

    return b->t->m.c.tied ? b->held + (b->slot[id] - 1) * d :
        b->t->group[b->t->m.c.L].g + id * d;
}

/* Columns c0..c1 of every token in order. */
static void
embed_task(void *ctx, size_t task, size_t worker)
{
    const struct job *j = ctx;
    const size_t d = j->b->t->m.c.d, n = j->r->B * j->r->T;
    const size_t c0 = task * COLS, c1 = c0 + COLS < d ? c0 + COLS : d;

    (void)worker;
    for (size_t t = 0; t < n; t++) {
        if (j->r->first[t] != UINT32_MAX) {
            float *g = embed_row(j->b, j->r->ids[t]) + c0;

            kern.add(g, g, j->b->g.dx + t * d + c0, c1 - c0);
        }
    }
}

static void
hold(struct bwd *b, const struct rows *r)
{
    for (size_t t = 0; t < r->B * r->T; t++) {
        if (r->first[t] != UINT32_MAX && b->slot[r->ids[t]] == 0) {
            b->id[b->nheld] = r->ids[t];
            b->slot[r->ids[t]] = (uint32_t)++b->nheld;
        }
    }
}

void
bwd_backward(struct bwd *b, const struct rows *r, const float *dfinal,
    void (*add)(void *ctx, size_t i, float *dx), void *ctx)
{
    const struct config *c = &b->t->m.c;
    struct pool *pool = b->f->pool;
    const size_t cols = (c->d + COLS - 1) / COLS;
    struct job j = { b, r, dfinal };
    struct run u;

    pool_run(pool, (r->B * r->T + CHUNK - 1) / CHUNK, final_task, &j);
    pool_run(pool, cols, final_weight_task, &j);
    for (size_t i = c->L; i-- > 0; ) {
        if (add != NULL)
            add(ctx, i, b->g.dx);
        run_block(b, &u, i, r);
        if (b->recompute)
            block_forward(&u);
        u.g = &b->g;
        b->g.group = &b->t->group[i];
        block_backward(&u);
    }
    if (c->tied)
        hold(b, r);
    pool_run(pool, cols, embed_task, &j);
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
