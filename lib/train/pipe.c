/* Running rows through the stages of a model; see pipe.h. */
#include "train/pipe.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timeline.h"

#include <stdlib.h>
#include <string.h>

enum { OUTPUT, GRADIENT, WAYS };

struct pipe {
    const struct dist_group *g;
    struct tmodel *t;
    struct fetch fetch;
    struct arena arena;
    float *room; /* on rank 0: buffer for the largest group of other ranks */
    size_t last; /* group that fetch_group was last called with */
    struct posted (*sending)[WAYS]; /* [nlane] messages being sent; n 0: none */
    size_t nlane;
};

/* Rows that go through the stages, `some` at a time. */
struct pipe_rows {
    struct bwd *b;
    size_t rows, some;
    size_t numbers; /* numbers of a row's output */
};

static void
fetch_group(void *ctx, size_t group)
{
    struct pipe *x = ctx;
    struct tmodel *t = x->t;
    const size_t from = stages_owner(&t->stages, t->m.c.L, group);
    const int comes = x->g->rank == 0 && !tmodel_has(t, group);

    if (group == x->last)
        return; /* another tensor of the same group */
    x->last = group;
    dist_pass(x->g, from, 0, comes ? x->room : t->group[group].p,
        t->group[group].n * sizeof(float));
    if (comes)
        tmodel_place(t, group, x->room);
}

static void
skip_group(void *ctx, size_t group)
{
    (void)ctx, (void)group;
}

struct pipe *
pipe_new(const struct dist_group *g, struct tmodel *t)
{
    struct pipe *x = xcalloc(1, sizeof *x);
    size_t most = 0;

    x->g = g;
    x->t = t;
    x->fetch = (struct fetch){ fetch_group, skip_group, skip_group, x };
    for (size_t i = 0; i < t->ngroup && g->rank == 0; i++)
        if (!tmodel_has(t, i) && t->group[i].n > most)
            most = t->group[i].n;
    arena_init(&x->arena, most * sizeof(float) + 64);
    x->room = arena_alloc(&x->arena, most, sizeof(float));
    return x;
}

void
pipe_free(struct pipe *x)
{
    if (x == NULL)
        return;
    arena_release(&x->arena);
    free(x->sending);
    free(x);
}

size_t
pipe_bytes(const struct pipe *x)
{
    return x != NULL ? x->arena.cap : 0;
}

const struct fetch *
pipe_fetch(const struct pipe *x)
{
    return &x->fetch;
}

/* Wait until the lane's messages have been sent, before its memory is used
 * again. */
static void
wait_sent(struct pipe *x, size_t lane)
{
    for (int way = 0; way < WAYS; way++) {
        if (x->sending[lane][way].n > 0)
            dist_posted(x->g, &x->sending[lane][way]);
        x->sending[lane][way].n = 0;
    }
}

/* Send an output to the next stage, or a gradient to the one before. */
static void
send_piece(struct pipe *x, size_t lane, size_t stage, int way, const float *p,
    size_t n)
{
    const size_t to = way == OUTPUT ? stage + 1 : stage - 1;

    x->sending[lane][way] =
        dist_post(x->g, to % x->g->n, WAYS * to + (size_t)way, p, n);
}

static void
receive_piece(struct pipe *x, size_t stage, int way, float *p, size_t n)
{
    const size_t from = way == OUTPUT ? stage - 1 : stage + 1;

    dist_receive(x->g, from % x->g->n, WAYS * stage + (size_t)way, p, n);
}

static void
one_pass(struct pipe *x, const struct pipe_rows *r, const struct stage_op *op,
    void (*pass)(void *ctx, size_t piece, int back, int last), void *ctx)
{
    const struct pipeline *s = &x->t->stages;
    const size_t lane = bwd_stage(r->b, op->stage, op->piece);
    const size_t at = op->piece * r->some, left = r->rows - at;
    const size_t n = (left < r->some ? left : r->some) * r->numbers;
    const int first = op->stage == 0, last = op->stage + 1 == s->n * s->per;
    double t;

    if (!op->back)
        wait_sent(x, lane);
    if (op->back ? !last : !first)
        receive_piece(x, op->stage, op->back ? GRADIENT : OUTPUT,
            op->back ? bwd_dx(r->b) : bwd_input(r->b), n);
    t = clock_now();
    pass(ctx, op->piece, op->back, last);
    timeline_add("compute", op->back ? "backward" : "forward", t);
    if (!op->back && !last)
        send_piece(x, lane, op->stage, OUTPUT, bwd_output(r->b), n);
    if (op->back && !first) {
        /* the input has been read for the last time */
        memcpy(bwd_input(r->b), bwd_dx(r->b), n * sizeof(float));
        send_piece(x, lane, op->stage, GRADIENT, bwd_input(r->b), n);
    }
}

void
pipe_run(struct pipe *x, struct bwd *b, size_t rows, size_t some,
    size_t numbers, void (*pass)(void *ctx, size_t piece, int back, int last),
    void *ctx)
{
    const struct pipeline *s = &x->t->stages;
    const size_t pieces = (rows + some - 1) / some;
    const struct pipe_rows r = { b, rows, some, numbers };

    if (x->sending == NULL) {
        x->nlane = bwd_lanes(b);
        x->sending = xcalloc(x->nlane, sizeof *x->sending);
    }
    for (size_t i = 0; i < stages_ops(s, pieces); i++) {
        const struct stage_op op = stages_op(s, pieces, i);

        if (op.piece < pieces)
            one_pass(x, &r, &op, pass, ctx);
    }
    for (size_t i = 0; i < x->nlane; i++)
        wait_sent(x, i);
}

void
pipe_finish(struct pipe *x)
{
    const size_t L = x->t->m.c.L, end = x->g->n - 1;
    const struct group *g = &x->t->group[L];

    if (!x->t->m.c.tied)
        return;
    dist_pass_sum(x->g, end, 0, g->g, g->n);
    if (x->g->rank == end)
        memset(g->g, 0, g->n * sizeof *g->g);
}
