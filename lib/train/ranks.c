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
    double rounding;
    /* the message at hand */
    const struct rows *rows;
    const uint8_t *scored;
    const struct said *said;
    size_t first, stride, count;
    /* what keep_task does */
    float *at;
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
    held = !o->deterministic ? 0 : x->depth + (o->messages > 1);
    if (held > 0)
        arena_init(&x->arena, held * (t->nparam * sizeof(float) + 64));
    for (size_t i = 0; i < held; i++)
        x->held[i] = arena_alloc(&x->arena, t->nparam, sizeof(float));
    x->even = xcalloc(t->ngroup, sizeof *x->even);
    for (size_t i = 0; i < t->ngroup; i++) {
        assert(t->group[i].half == NULL || (n == 1 && !o->deterministic));
        x->even[i] = xcalloc(n + 1, sizeof **x->even);
        dist_split(t->group[i].n, n, 16, x->even[i]);
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
    free(x->held);
    arena_release(&x->arena);
    free(x);
}

size_t
ranks_bytes(const struct ranks *x)
{
    return x->arena.cap + dist_bytes(x->o.group->n);
}

/* Task: a group's gradients put aside, and zero; or added to those aside. */
static void
keep_task(void *ctx, size_t task, size_t worker)
{
    const struct ranks *x = ctx;
    const struct group *g = &x->t->group[task];
    float *at = x->at;

    (void)worker;
    for (size_t i = 0; i < task; i++)
        at += x->t->group[i].n;
    if (x->back) {
        kern.add(g->g, at, g->g, g->n);
    } else if (g->n > 0) {
        memcpy(at, g->g, g->n * sizeof *at);
        memset(g->g, 0, g->n * sizeof *at);
    }
}

static void
keep(struct ranks *x, size_t depth, int back)
{
    x->at = x->held[depth];
    x->back = back;
    pool_run(x->pool, x->t->ngroup, keep_task, x);
}

static void
add_sum(struct loss_sum *to, const struct loss_sum *from)
{
    to->ce += from->ce;
    to->kl += from->kl;
    to->sh += from->sh;
    to->n += from->n;
    to->tok += from->tok;
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

/* S(i,k) of dist_tree over the rows of this rank, into the gradients, which are
 * zero before, and into *sum. */
static void
tree(struct ranks *x, size_t i, size_t k, size_t depth, struct loss_sum *sum)
{
    struct loss_sum other = { 0 };

    if (i + k >= x->count) {
        add_row(x, i, sum);
        step_flush(x->step);
        return;
    }
    tree(x, i, 2 * k, depth + 1, sum);
    keep(x, depth, 0);
    tree(x, i + k, 2 * k, depth + 1, &other);
    keep(x, depth, 1);
    add_sum(sum, &other);
}

static void
add_rank_sum(void *ctx, size_t i, size_t j)
{
    struct loss_sum *sum = ctx;

    add_sum(&sum[i], &sum[j]);
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

/* The gradients of all ranks, each rank's part. */
static void
sum_gradients(struct ranks *x, enum dist_sum how)
{
    const struct group *first = &x->t->group[0];
    float *exact = NULL;

    if (x->o.group->n == 1)
        return;
    if (how == DIST_BF16 && !(x->rounding > 0.0)) {
        exact = xreallocarray(NULL, first->n, sizeof *exact);
        memcpy(exact, first->g, first->n * sizeof *exact);
    }
    for (size_t i = 0; i < x->t->ngroup; i++)
        if (x->t->group[i].n > 0)
            dist_reduce_scatter(x->o.group, x->t->group[i].g, parts(x, i), how);
    if (exact != NULL)
        measure(x, exact, first->g, parts(x, 0));
    free(exact);
}

void
ranks_add(struct ranks *x, const struct rows *r, const uint8_t *scored,
    const struct said *said, size_t first, size_t stride, struct loss_sum *sum)
{
    struct loss_sum own = { 0 };
    const double t = clock_now();

    if (!x->o.deterministic && first == 0 && stride == 1) {
        step_add(x->step, r, scored, said, sum);
        timeline_add("compute", "forward and backward", t);
        return;
    }
    x->rows = r;
    x->scored = scored;
    x->said = said;
    x->first = first;
    x->stride = stride;
    x->count = r->B > first ? (r->B - first + stride - 1) / stride : 0;
    if (!x->o.deterministic) {
        for (size_t i = 0; i < x->count; i++)
            add_row(x, i, sum);
        return;
    }
    assert(tree_depth(x->count) <= x->depth && x->added < x->o.messages);
    if (x->added > 0)
        keep(x, x->depth, 0);
    if (x->count > 0)
        tree(x, 0, 1, 0, &own);
    sum_gradients(x, DIST_TREE);
    sum_losses(x, &own);
    add_sum(sum, &own);
    if (x->added++ > 0)
        keep(x, x->depth, 1);
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
