/* Gradients summed over the rows of all ranks; see ranks.h. */
#include "train/ranks.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timeline.h"
#include "kern/kern.h"
#include "model/files/adapter.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 1 << 16 }; /* numbers in a task */

/*
 * The sums held are a binary counter, as in a binomial heap.  After a row,
 * held[deep-1], ... held[low] are added to its gradients, and the result is
 * stored in held[low-1]; low 0: the message is complete, and the result stays
 * in the gradients.
 */
struct carry {
    size_t deep, low;
    int is_padding; /* the pass has no row */
};

struct ranks {
    struct ranks_opt o;
    struct step *step;
    struct tmodel *t;
    const struct adamw *a;
    struct pool *pool;
    struct arena arena;
    float **held;  /* [depth + 1][nparam] sums that are held; the last one is
                    * the sum of earlier messages */
    size_t depth;  /* depth of a message's tree */
    size_t added;  /* messages added in this step */
    size_t **even; /* [ngroup][n+1] borders of ranks' parts, if each rank has
                    * all moments */
    size_t *place; /* [ngroup] offset of a group in held[.] */
    double rounding;
    struct carry carry; /* of the present pass, for take_gradients */
};

/* The rows of a message that this rank has: first, first + stride, ... */
struct share_of_rows {
    const struct rows *rows;
    const uint8_t *scored; /* [B,T] */
    const struct targets *targets;
    size_t first, stride, count;
};

/* A group of parameters, for tasks that do CHUNK numbers of it. */
struct group_task {
    const struct ranks *x;
    const struct group *group;
    size_t at; /* offset of the group in held[.] */
};

static size_t
tree_depth(size_t rows)
{
    size_t depth = 0;

    while (((size_t)1 << depth) < rows)
        depth++;
    return depth;
}

/* Does each rank keep only its part of the gradients? */
static int
has_parts(const struct ranks *x)
{
    return x->t->share.n > 1;
}

/* Does each rank have only the gradients of its stages? */
static int
in_stages(const struct ranks *x)
{
    return stages_any(&x->t->stages);
}

static void take_gradients(void *ctx, size_t group);

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
    held =
        !o->deterministic ? 0 : x->depth + (o->messages > 1 && !has_parts(x));
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
    if (has_parts(x)) {
        assert(adamw_in_parts(a));
        t->take = take_gradients;
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
each_chunk(const struct ranks *x, size_t i,
    void (*task)(void *ctx, size_t task, size_t worker))
{
    struct group_task g = { x, &x->t->group[i], x->place[i] };

    pool_run(x->pool, (g.group->n + CHUNK - 1) / CHUNK, task, &g);
}

/* Returns the first number of a task; *n: how many numbers it has. */
static size_t
chunk_begin(const struct group_task *g, size_t task, size_t *n)
{
    const size_t at = task * CHUNK, left = g->group->n - at;

    *n = left < CHUNK ? left : CHUNK;
    return at;
}

/* Task: add the sums that x->carry names to the gradients of a row, and store
 * the result if the message is not complete. */
static void
carry_chunk(void *ctx, size_t task, size_t worker)
{
    const struct group_task *t = ctx;
    const struct ranks *x = t->x;
    const struct carry *c = &x->carry;
    size_t n;
    const size_t at = chunk_begin(t, task, &n);
    float *g = t->group->g + at;

    (void)worker;
    for (size_t d = c->deep; d-- > c->low;)
        kern.add(g, x->held[d] + t->at + at, g, n);
    if (c->low > 0) {
        memcpy(x->held[c->low - 1] + t->at + at, g, n * sizeof *g);
        memset(g, 0, n * sizeof *g);
    }
}

/* Task: move the gradients, the sum of the messages so far, to the last held
 * sum, and leave zeros. */
static void
store_messages(void *ctx, size_t task, size_t worker)
{
    const struct group_task *t = ctx;
    size_t n;
    const size_t at = chunk_begin(t, task, &n);
    float *g = t->group->g + at;

    (void)worker;
    memcpy(t->x->held[t->x->depth] + t->at + at, g, n * sizeof *g);
    memset(g, 0, n * sizeof *g);
}

/* Task: add the sum of the earlier messages to the gradients. */
static void
add_messages(void *ctx, size_t task, size_t worker)
{
    const struct group_task *t = ctx;
    size_t n;
    const size_t at = chunk_begin(t, task, &n);
    float *g = t->group->g + at;

    (void)worker;
    kern.add(g, t->x->held[t->x->depth] + t->at + at, g, n);
}

static void
each_group(const struct ranks *x,
    void (*task)(void *ctx, size_t task, size_t worker))
{
    for (size_t i = 0; i < x->t->ngroup; i++)
        each_chunk(x, i, task);
}

/* Add row i of this rank's share. */
static void
add_rank_row(const struct ranks *x, const struct share_of_rows *m, size_t i,
    struct loss_sum *sum)
{
    const size_t b = m->first + i * m->stride, at = b * m->rows->T;
    const struct targets its = targets_rows(m->targets, b);
    const double t = clock_now();

    step_add(x->step,
        &(struct rows){ 1, m->rows->T, m->rows->ids + at, m->rows->first + at },
        m->scored + at, &its, sum);
    timeline_add("compute", "forward and backward", t);
}

/* Add row i, and carry the sums that are held, as struct carry says. */
static void
add_leaf(struct ranks *x, const struct share_of_rows *m, size_t i,
    struct carry carry, struct loss_sum *sum)
{
    x->carry = carry;
    add_rank_row(x, m, i, sum);
    if (has_parts(x))
        return; /* take_gradients has done it */
    step_flush(x->step);
    each_group(x, carry_chunk);
}

/* Compute S(i,k) of dist_tree over this rank's rows, a node at `depth` of the
 * tree.  Its losses are added to *sum.  The held sums depth - 1 .. low are
 * added to its gradients (struct carry). */
static void
add_tree(struct ranks *x, const struct share_of_rows *m, size_t i, size_t k,
    size_t depth, size_t low, struct loss_sum *sum)
{
    struct loss_sum other = { 0 };

    if (i + k >= m->count) {
        add_leaf(x, m, i, (struct carry){ depth, low, 0 }, sum);
        return;
    }
    add_tree(x, m, i, 2 * k, depth + 1, depth + 1, sum);
    add_tree(x, m, i + k, 2 * k, depth + 1, low, &other);
    loss_sum_add(sum, &other);
}

static void
add_rank_sum(void *ctx, size_t i, size_t j)
{
    struct loss_sum *sum = ctx;

    loss_sum_add(&sum[i], &sum[j]);
}

/* Sum the losses over all ranks. */
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
group_parts(const struct ranks *x, size_t i)
{
    return adamw_in_parts(x->a) ? adamw_part(x->a, i) : x->even[i];
}

/* Measure the rounding error of DIST_BF16.  g: the gradients that DIST_BF16 has
 * summed; exact: the same gradients before that sum, which are summed here by
 * DIST_TREE. */
static void
measure_rounding(struct ranks *x, float *exact, const float *g,
    const size_t *at)
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

/* Sum the gradients of group i over all ranks; each rank gets its part. */
static void
reduce_group(struct ranks *x, size_t i, enum dist_sum how)
{
    const struct group *g = &x->t->group[i];
    float *exact = NULL;

    if (g->n == 0)
        return;
    if (i == 0 && how == DIST_BF16 && !(x->rounding > 0.0)) {
        exact = xreallocarray(NULL, g->n, sizeof *exact);
        memcpy(exact, g->g, g->n * sizeof *exact);
    }
    dist_reduce_scatter(x->o.group, g->g, group_parts(x, i), how);
    if (exact != NULL)
        measure_rounding(x, exact, g->g, group_parts(x, i));
    free(exact);
}

/* Task: add this rank's part of the sums to its gradients, and zero all of
 * g. */
static void
add_own_chunk(void *ctx, size_t task, size_t worker)
{
    const struct group_task *t = ctx;
    const struct group *g = t->group;
    size_t n;
    const size_t at = chunk_begin(t, task, &n), own = g->first + g->own;
    const size_t from = at > g->first ? at : g->first;
    const size_t to = at + n < own ? at + n : own;

    (void)worker;
    if (from < to)
        kern.add(group_g(g, from), group_g(g, from), g->g + from, to - from);
    memset(g->g + at, 0, n * sizeof *g->g);
}

/* `take` of struct tmodel: a pass has finished the group's gradients. */
static void
take_gradients(void *ctx, size_t group)
{
    struct ranks *x = ctx;

    if (x->t->adapter != NULL && group < x->t->m.c.L)
        adapter_join(x->t->adapter, &x->t->m, group, x->t->group[group].g);
    if (x->o.deterministic && !x->carry.is_padding)
        each_chunk(x, group, carry_chunk);
    if (x->o.deterministic && x->carry.low > 0)
        return;
    reduce_group(x, group, x->o.deterministic ? DIST_TREE : x->o.wire);
    each_chunk(x, group, add_own_chunk);
}

static void
sum_gradients(struct ranks *x, enum dist_sum how)
{
    for (size_t i = 0; i < x->t->ngroup && x->o.group->n > 1; i++)
        if (!has_parts(x) && !in_stages(x))
            reduce_group(x, i, how);
}

/* The largest n of all ranks. */
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

/* If each rank keeps a part of the gradients, all ranks must make the same
 * number of passes.  This rank has `passes` passes with rows; make passes
 * without rows up to the largest number of any rank. */
static void
add_padding(struct ranks *x, const struct share_of_rows *m, size_t passes)
{
    const size_t most = has_parts(x) ? most_of_all(x, passes) : passes;

    for (size_t i = passes; i < most; i++) {
        /* a rank without any row completes the message in its last pass */
        x->carry = (struct carry){ 0, passes > 0 || i + 1 < most, 1 };
        step_pass(x->step, m->rows, m->targets);
    }
    x->carry.is_padding = 0;
}

static void
add_in_order(struct ranks *x, const struct share_of_rows *m,
    struct loss_sum *sum)
{
    const int all = m->first == 0 && m->stride == 1;
    const double t = clock_now();

    add_padding(x, m, all ? step_passes(x->step, m->count) : m->count);
    if (all) {
        step_add(x->step, m->rows, m->scored, m->targets, sum);
        if (!in_stages(x)) /* stages record each pass */
            timeline_add("compute", "forward and backward", t);
        return;
    }
    for (size_t i = 0; i < m->count; i++)
        add_rank_row(x, m, i, sum);
}

void
ranks_add(struct ranks *x, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, size_t first, size_t stride,
    struct loss_sum *sum)
{
    const struct share_of_rows m = { r, scored, targets, first, stride,
        r->B > first ? (r->B - first + stride - 1) / stride : 0 };
    struct loss_sum own = { 0 };

    if (!x->o.deterministic) {
        add_in_order(x, &m, sum);
        return;
    }
    assert(tree_depth(m.count) <= x->depth && x->added < x->o.messages);
    if (x->added > 0 && !has_parts(x))
        each_group(x, store_messages);
    add_padding(x, &m, m.count);
    if (m.count > 0)
        add_tree(x, &m, 0, 1, 0, 0, &own);
    sum_gradients(x, DIST_TREE);
    sum_losses(x, &own);
    loss_sum_add(sum, &own);
    if (x->added++ > 0 && !has_parts(x))
        each_group(x, add_messages);
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
