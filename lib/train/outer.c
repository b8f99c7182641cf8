/* The outer step of ranks; see outer.h. */
#include "train/outer.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/timeline.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { OUTER_CHUNK = 1 << 16 }; /* parameters in a task */

struct outer {
    struct outer_opt o;
    const struct dist_group *ranks;
    struct arena arena;
    size_t ngroup;
    float **last;     /* [ngroup][n of the group] parameters that all ranks
                       * had after the last exchange */
    float **velocity; /* [ngroup][n of the group]; NULL if momentum is 0 */
};

/* A group of parameters, for tasks that do OUTER_CHUNK of them. */
struct outer_task {
    const struct outer *o;
    const struct group *group;
    float *last, *velocity;
};

size_t
outer_each(const struct outer_opt *o)
{
    return (o->momentum > 0.0 ? 2 : 1) * sizeof(float);
}

struct outer *
outer_new(const struct outer_opt *o, const struct tmodel *t,
    const struct dist_group *g)
{
    struct outer *x = xcalloc(1, sizeof *x);
    size_t bytes = 0;

    x->o = *o;
    x->ranks = g;
    x->ngroup = t->ngroup;
    for (size_t i = 0; i < t->ngroup; i++) {
        assert(t->group[i].part_p == NULL && t->group[i].half == NULL);
        bytes += t->group[i].n * outer_each(o) + 128;
    }
    arena_init(&x->arena, bytes);
    x->last = xcalloc(t->ngroup, sizeof *x->last);
    if (o->momentum > 0.0)
        x->velocity = xcalloc(t->ngroup, sizeof *x->velocity);
    for (size_t i = 0; i < t->ngroup; i++) {
        x->last[i] = arena_alloc(&x->arena, t->group[i].n, sizeof(float));
        if (x->velocity != NULL)
            x->velocity[i] =
                arena_alloc(&x->arena, t->group[i].n, sizeof(float));
    }
    return x;
}

void
outer_free(struct outer *o)
{
    if (o == NULL)
        return;
    free(o->last);
    free(o->velocity);
    arena_release(&o->arena);
    free(o);
}

size_t
outer_bytes(const struct outer *o)
{
    return o != NULL ? o->arena.cap : 0;
}

float *
outer_velocity(struct outer *o, size_t group)
{
    return o->velocity != NULL ? o->velocity[group] : NULL;
}

void
outer_start(struct outer *o, const struct tmodel *t)
{
    for (size_t i = 0; i < o->ngroup; i++)
        if (t->group[i].n > 0)
            memcpy(o->last[i], t->group[i].p, t->group[i].n * sizeof(float));
}

/* Returns the first parameter of a task; *end: the one after its last. */
static size_t
outer_range(const struct outer_task *t, size_t task, size_t *end)
{
    const size_t at = task * OUTER_CHUNK, n = t->group->n;

    *end = n - at < OUTER_CHUNK ? n : at + OUTER_CHUNK;
    return at;
}

/* Task: write what this rank has moved, a - p_r, into the gradients. */
static void
outer_moved(void *ctx, size_t task, size_t worker)
{
    const struct outer_task *t = ctx;
    const float *last = t->last, *p = t->group->p;
    float *g = t->group->g;
    size_t end;

    (void)worker;
    for (size_t i = outer_range(t, task, &end); i < end; i++)
        g[i] = last[i] - p[i];
}

/* Task: apply the sum of all ranks, in the gradients. */
static void
outer_apply(void *ctx, size_t task, size_t worker)
{
    const struct outer_task *t = ctx;
    const float share = (float)(1.0 / (double)t->o->ranks->n);
    const float rate = (float)t->o->o.rate, momentum = (float)t->o->o.momentum;
    float *last = t->last, *p = t->group->p, *g = t->group->g;
    size_t end;

    (void)worker;
    for (size_t i = outer_range(t, task, &end); i < end; i++) {
        const float mean = share * g[i];
        float by = mean;

        if (t->velocity != NULL) {
            t->velocity[i] = momentum * t->velocity[i] + mean;
            by += momentum * t->velocity[i];
        }
        p[i] = last[i] -= rate * by;
        g[i] = 0.0f;
    }
}

void
outer_step(struct outer *o, struct tmodel *t, struct pool *pool)
{
    for (size_t i = 0; i < o->ngroup; i++) {
        const struct group *g = &t->group[i];
        struct outer_task task = { o, g, o->last[i], outer_velocity(o, i) };
        const size_t tasks = (g->n + OUTER_CHUNK - 1) / OUTER_CHUNK;
        double begin = clock_now();

        if (g->n == 0)
            continue;
        pool_run(pool, tasks, outer_moved, &task);
        timeline_add("compute", "outer step", begin);
        dist_all_reduce(o->ranks, g->g, g->n, o->o.wire);
        begin = clock_now();
        pool_run(pool, tasks, outer_apply, &task);
        timeline_add("compute", "outer step", begin);
    }
}
