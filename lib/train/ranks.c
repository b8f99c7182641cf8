/* Rows of all ranks, summed; see ranks.h. */
#include "train/ranks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timeline.h"
#include "kern/kern.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 }; /* numbers of a task */

struct ranks {
    struct ranks_opt o;
    struct step *step;
    struct tmodel *t;
    const struct adamw *a;
    struct pool *pool;
    struct arena arena;
    float **held;  /* [depth + 1][nparam] sums put aside; the last one is that
                    * of the messages before */
    size_t depth;  /* of a message's tree */
    size_t added;  /* messages of this step */
    size_t **even; /* [ngroup][n+1] parts, where moments are whole */
    size_t *place; /* [ngroup] where a group's numbers are in those held */
    double rounding;
    /* the message at hand */
    const struct rows *rows;
    const uint8_t *scored;
    const struct said *said;
    size_t first, stride, count;
    /* the row at hand: sums held[deep-1], ... held[low] are added to it, and
     * then it is put aside as held[low-1], or the message is over (low 0) */
    size_t deep, low;
    int empty; /* it is none */
    /* what tasks do, of a group */
    const struct group *group;
    size_t at;
    int back;
};

static size_t
tree_depth(size_t rows)
{
    size_t depth = 0;

    while (((size_t)1 << depth) < rows)
        depth++;
    return depth;
}

/* Has each rank the gradients of its part alone? */
static int
in_parts(const struct ranks *x)
{
    return x->t->share.n > 1;
}

/* Has each rank the gradients of its stages alone? */
static int
in_stages(const struct ranks *x)
{
    return stages_any(&x->t->stages);
}

static void take(void *ctx, size_t group);

struct ranks *
ranks_new(const struct ranks_opt *o, struct step *s, struct tmodel *t,
    const struct adamw *a, struct pool *pool)
{
    struct ranks *x = xcalloc(1, sizeof *x);
    const size_t n = o->group->n;
    size_t held;

    x->o = *o;
    x->step = s;
    x->t = t;
    x->a = a;
    x->pool = pool;
    x->depth = tree_depth(o->rows);
    x->held = xcalloc(x->depth + 1, sizeof *x->held);
    held = !o->deterministic ? 0 : x->depth + (o->messages > 1 && !in_parts(x));
    if (held > 0)
        arena_init(&x->arena, held * (t->nparam * sizeof(float) + 64));
    for (size_t i = 0; i < held; i++)
        x->held[i] = arena_alloc(&x->arena, t->nparam, sizeof(float));
    x->even = xcalloc(t->ngroup, sizeof *x->even);
    x->place = xcalloc(t->ngroup + 1, sizeof *x->place);
    for (size_t i = 0; i < t->ngroup; i++) {
        assert(t->group[i].half == NULL || (n == 1 && !o->deterministic));
        x->even[i] = xcalloc(n + 1, sizeof **x->even);
        dist_split(t->group[i].n, n, 16, x->even[i]);
        x->place[i + 1] = x->place[i] + t->group[i].n;
    }
    if (in_parts(x)) {
        assert(adamw_in_parts(a));
        t->take = take;
        t->take_ctx = x;
    }
    return x;
}

void
ranks_free(struct ranks *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < x->t->ngroup; i++)
        free(x->even[i]);
    free(x->even);
    free(x->place);
    free(x->held);
    arena_release(&x->arena);
    free(x);
}

size_t
ranks_bytes(const struct ranks *x)
{
    return x->arena.cap + dist_bytes(x->o.group->n);
}

/* Run task over the numbers of group i, CHUNK of them at a time. */
static void
each_chunk(struct ranks *x, size_t i,
    void (*task)(void *ctx, size_t task, size_t worker))
{
    x->group = &x->t->group[i];
    x->at = x->place[i];
    pool_run(x->pool, (x->group->n + CHUNK - 1) / CHUNK, task, x);
}

static size_t
chunk(const struct ranks *x, size_t task, size_t *n)
{
    const size_t at = task * CHUNK, left = x->group->n - at;

    *n = left < CHUNK ? left : CHUNK;
    return at;
}

/* Task: what a row has made, added to what it is summed with in its tree, and
 * put aside if the tree goes on. */
static void
carry_task(void *ctx, size_t task, size_t worker)
{
    const struct ranks *x = ctx;
    size_t n;
    const size_t at = chunk(x, task, &n);
    float *g = x->group->g + at;

    (void)worker;
    for (size_t d = x->deep; d-- > x->low;)
        kern.add(g, x->held[d] + x->at + at, g, n);
    if (x->low > 0) {
        memcpy(x->held[x->low - 1] + x->at + at, g, n * sizeof *g);
        memset(g, 0, n * sizeof *g);
    }
}

/* Task: the sums of the messages before put aside; or added to those of this
 * one. */
static void
keep_task(void *ctx, size_t task, size_t worker)
{
    const struct ranks *x = ctx;
    size_t n;
    const size_t at = chunk(x, task, &n);
    float *g = x->group->g + at, *held = x->held[x->depth] + x->at + at;

    (void)worker;
    if (x->back) {
        kern.add(g, held, g, n);
    } else {
        memcpy(held, g, n * sizeof *g);
        memset(g, 0, n * sizeof *g);
    }
}

static void
keep(struct ranks *x, int back)
{
    x->back = back;
    for (size_t i = 0; i < x->t->ngroup; i++)
        each_chunk(x, i, keep_task);
}

static void
add_row(struct ranks *x, size_t i, struct loss_sum *sum)
{
    const size_t b = x->first + i * x->stride, at = b * x->rows->T;
    const struct said its = said_rows(x->said, b);
    const double t = clock_now();

    step_add(x->step,
        &(struct rows){ 1, x->rows->T, x->rows->ids + at, x->rows->first + at },
        x->scored + at, &its, sum);
    timeline_add("compute", "forward and backward", t);
}

/* A row of the tree; deep, low: see struct ranks. */
static void
leaf(struct ranks *x, size_t i, size_t deep, size_t low, struct loss_sum *sum)
{
    x->deep = deep;
    x->low = low;
    add_row(x, i, sum);
    if (in_parts(x))
        return; /* taken already */
    step_flush(x->step);
    for (size_t k = 0; k < x->t->ngroup; k++)
        each_chunk(x, k, carry_task);
}

/* S(i,k) of dist_tree over the rows of this rank, at `depth`, into *sum; to the
 * gradients what is held from there down to `low` is added: struct ranks. */
static void
tree(struct ranks *x, size_t i, size_t k, size_t depth, size_t low,
    struct loss_sum *sum)
{
    struct loss_sum other = { 0 };

    if (i + k >= x->count) {
        leaf(x, i, depth, low, sum);
        return;
    }
    tree(x, i, 2 * k, depth + 1, depth + 1, sum);
    tree(x, i + k, 2 * k, depth + 1, low, &other);
    loss_sum_add(sum, &other);
}

static void
add_rank_sum(void *ctx, size_t i, size_t j)
{
    struct loss_sum *sum = ctx;

    loss_sum_add(&sum[i], &sum[j]);
}

/* The losses of all ranks. */
static void
sum_losses(struct ranks *x, struct loss_sum *sum)
{
    const struct dist_group *g = x->o.group;
    struct loss_sum *all = xcalloc(g->n, sizeof *all);

    all[g->rank] = *sum;
    dist_all_gather_one(g, all, sizeof *all);
    dist_tree(g->n, add_rank_sum, all);
    *sum = all[0];
    free(all);
}

static const size_t *
parts(const struct ranks *x, size_t i)
{
    return adamw_in_parts(x->a) ? adamw_part(x->a, i) : x->even[i];
}

/* What bf16 costs: the sums g have become of `exact`, which are summed now. */
static void
measure(struct ranks *x, float *exact, const float *g, const size_t *at)
{
    const struct dist_group *group = x->o.group;
    struct {
        double lost, whole;
    } *all = xcalloc(group->n, sizeof *all), sum = { 0.0, 0.0 };

    dist_reduce_scatter(group, exact, at, DIST_TREE);
    for (size_t i = at[group->rank]; i < at[group->rank + 1]; i++) {
        const double d = (double)g[i] - exact[i];

        all[group->rank].lost += d * d;
        all[group->rank].whole += (double)exact[i] * exact[i];
    }
    dist_all_gather_one(group, all, sizeof *all);
    for (size_t r = 0; r < group->n; r++) {
        sum.lost += all[r].lost;
        sum.whole += all[r].whole;
    }
    x->rounding = sum.whole > 0.0 ? sqrt(sum.lost / sum.whole) : 0.0;
    free(all);
}

double
ranks_rounding(const struct ranks *x)
{
    return x->rounding;
}

/* The gradients of group i of all ranks, each rank's part. */
static void
reduce(struct ranks *x, size_t i, enum dist_sum how)
{
    const struct group *g = &x->t->group[i];
    float *exact = NULL;

    if (g->n == 0)
        return;
    if (i == 0 && how == DIST_BF16 && !(x->rounding > 0.0)) {
        exact = xreallocarray(NULL, g->n, sizeof *exact);
        memcpy(exact, g->g, g->n * sizeof *exact);
    }
    dist_reduce_scatter(x->o.group, g->g, parts(x, i), how);
    if (exact != NULL)
        measure(x, exact, g->g, parts(x, i));
    free(exact);
}

/* Task: this rank's part of the sums to those before; all of g zero. */
static void
settle_task(void *ctx, size_t task, size_t worker)
{
    const struct ranks *x = ctx;
    const struct group *g = x->group;
    size_t n;
    const size_t at = chunk(x, task, &n), own = g->first + g->own;
    const size_t from = at > g->first ? at : g->first;
    const size_t to = at + n < own ? at + n : own;

    (void)worker;
    if (from < to)
        kern.add(group_g(g, from), group_g(g, from), g->g + from, to - from);
    memset(g->g + at, 0, n * sizeof *g->g);
}

/* Of struct tmodel: a pass has made all of the group's gradients. */
static void
take(void *ctx, size_t group)
{
    struct ranks *x = ctx;

    if (x->o.deterministic && !x->empty)
        each_chunk(x, group, carry_task);
    if (x->o.deterministic && x->low > 0)
        return;
    reduce(x, group, x->o.deterministic ? DIST_TREE : x->o.wire);
    each_chunk(x, group, settle_task);
}

static void
sum_gradients(struct ranks *x, enum dist_sum how)
{
    for (size_t i = 0; i < x->t->ngroup && x->o.group->n > 1; i++)
        if (!in_parts(x) && !in_stages(x))
            reduce(x, i, how);
}

/* The largest such number of any rank. */
static size_t
most_of_all(const struct ranks *x, size_t n)
{
    const struct dist_group *g = x->o.group;
    size_t *all = xcalloc(g->n, sizeof *all), most = 0;

    all[g->rank] = n;
    dist_all_gather_one(g, all, sizeof *all);
    for (size_t i = 0; i < g->n; i++)
        most = all[i] > most ? all[i] : most;
    free(all);
    return most;
}

/* Where gradients are in parts all ranks make as many passes, of which this one
 * has `passes`: the others are empty. */
static void
fill_up(struct ranks *x, size_t passes)
{
    const size_t most = in_parts(x) ? most_of_all(x, passes) : passes;

    x->empty = 1;
    x->deep = 0;
    for (size_t i = passes; i < most; i++) {
        /* without a row the message is over with the last of them */
        x->low = passes > 0 || i + 1 < most;
        step_pass(x->step, x->rows, x->said);
    }
    x->empty = 0;
}

/* The rows in order. */
static void
add_in_order(struct ranks *x, struct loss_sum *sum)
{
    const int all = x->first == 0 && x->stride == 1;
    const double t = clock_now();

    fill_up(x, all ? step_passes(x->step, x->count) : x->count);
    if (all) {
        step_add(x->step, x->rows, x->scored, x->said, sum);
        if (!in_stages(x)) /* which tell of each */
            timeline_add("compute", "forward and backward", t);
        return;
    }
    for (size_t i = 0; i < x->count; i++)
        add_row(x, i, sum);
}

void
ranks_add(struct ranks *x, const struct rows *r, const uint8_t *scored,
    const struct said *said, size_t first, size_t stride, struct loss_sum *sum)
{
    struct loss_sum own = { 0 };

    x->rows = r;
    x->scored = scored;
    x->said = said;
    x->first = first;
    x->stride = stride;
    x->count = r->B > first ? (r->B - first + stride - 1) / stride : 0;
    if (!x->o.deterministic) {
        add_in_order(x, sum);
        return;
    }
    assert(tree_depth(x->count) <= x->depth && x->added < x->o.messages);
    if (x->added > 0 && !in_parts(x))
        keep(x, 0);
    fill_up(x, x->count);
    if (x->count > 0)
        tree(x, 0, 1, 0, 0, &own);
    sum_gradients(x, DIST_TREE);
    sum_losses(x, &own);
    loss_sum_add(sum, &own);
    if (x->added++ > 0 && !in_parts(x))
        keep(x, 1);
}

void
ranks_finish(struct ranks *x, struct loss_sum *sum)
{
    if (!x->o.deterministic) {
        step_flush(x->step);
        sum_gradients(x, x->o.wire);
        sum_losses(x, sum);
    }
    x->added = 0;
    for (size_t i = 0; i < x->t->ngroup && !adamw_in_parts(x->a); i++)
        if (x->t->group[i].n > 0)
            dist_all_gather(x->o.group, x->t->group[i].g, sizeof(float),
                x->even[i]);
}
