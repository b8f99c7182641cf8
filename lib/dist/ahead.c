/* Arrays gathered when they are read; see ahead.h. */
#include "dist/ahead.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *p;
    size_t kind;
    size_t holds; /* 1 + number of its array; 0: of none */
    size_t used;  /* when it was asked for last */
    int busy;     /* since ahead_now */
};

struct ahead {
    const struct dist_group *g;
    struct ahead_array *array;
    size_t count, size;
    struct buffer *buffer;
    size_t nbuffer;
    struct arena arena;
    size_t calls;
    struct buffer *coming; /* into which it is gathered, or NULL */
};

/* Elements of the largest array of a kind. */
static size_t
largest(const struct ahead *x, size_t kind)
{
    size_t most = 0;

    for (size_t i = 0; i < x->count; i++) {
        const struct ahead_array *a = &x->array[i];

        if (a->at != NULL && a->kind == kind && a->at[x->g->n] > most)
            most = a->at[x->g->n];
    }
    return most;
}

struct ahead *
ahead_new(const struct dist_group *g, const struct ahead_array *array,
    size_t count, size_t size, const size_t *buffers, size_t kinds)
{
    struct ahead *x = xcalloc(1, sizeof *x);
    struct arena plan;

    x->g = g;
    x->array = xreallocarray(NULL, count, sizeof *array);
    memcpy(x->array, array, count * sizeof *array);
    x->count = count;
    x->size = size;
    arena_plan(&plan);
    for (size_t k = 0; k < kinds; k++) {
        assert(buffers[k] > 0);
        for (size_t i = 0; i < buffers[k]; i++, x->nbuffer++)
            arena_alloc(&plan, largest(x, k), size);
    }
    arena_init(&x->arena, plan.used);
    x->buffer = xcalloc(x->nbuffer, sizeof *x->buffer);
    for (size_t k = 0, n = 0; k < kinds; k++)
        for (size_t i = 0; i < buffers[k]; i++, n++) {
            x->buffer[n].kind = k;
            x->buffer[n].p = arena_alloc(&x->arena, largest(x, k), size);
        }
    return x;
}

void
ahead_free(struct ahead *x)
{
    if (x == NULL)
        return;
    dist_gather_end();
    arena_release(&x->arena);
    free(x->array);
    free(x->buffer);
    free(x);
}

size_t
ahead_bytes(const struct ahead *x)
{
    return x->arena.cap;
}

/* The buffer that array i is in, or the one it would be put into: of those that
 * nobody reads the one that was not asked for the longest.  NULL: there is none.
 */
static struct buffer *
find(struct ahead *x, size_t i)
{
    struct buffer *free_one = NULL;

    assert(x->array[i].at != NULL);
    for (size_t k = 0; k < x->nbuffer; k++) {
        struct buffer *b = &x->buffer[k];

        if (b->holds == i + 1)
            return b;
        if (b->kind == x->array[i].kind && !b->busy &&
            (free_one == NULL || b->used < free_one->used))
            free_one = b;
    }
    return free_one;
}

/* Have array i gathered into b, perhaps in the background. */
static void
fetch(struct ahead *x, struct buffer *b, size_t i,
    void (*gather)(const struct dist_group *g, void *p, size_t size,
        const size_t *at))
{
    const struct ahead_array *a = &x->array[i];
    const size_t *own = a->at + x->g->rank;

    if (b == x->coming)
        dist_gather_end(); /* nobody has asked for it */
    x->coming = NULL;
    memcpy(b->p + own[0] * x->size, a->own, (own[1] - own[0]) * x->size);
    gather(x->g, b->p, x->size, a->at);
    b->holds = i + 1;
}

void *
ahead_now(struct ahead *x, size_t i)
{
    struct buffer *b = find(x, i);

    assert(b != NULL);
    b->used = ++x->calls;
    b->busy = 1;
    if (b->holds != i + 1) {
        fetch(x, b, i, dist_all_gather);
    } else if (b == x->coming) {
        dist_gather_end();
        x->coming = NULL;
    }
    return b->p;
}

/* Not into a buffer that is read; when none is left, the hint is of no use. */
void
ahead_next(struct ahead *x, size_t i)
{
    struct buffer *b = dist_overlaps() ? find(x, i) : NULL;

    if (b == NULL || b->holds == i + 1)
        return;
    b->used = ++x->calls;
    fetch(x, b, i, dist_gather_begin);
    x->coming = b;
}

void
ahead_done(struct ahead *x, size_t i)
{
    find(x, i)->busy = 0;
}

void
ahead_changed(struct ahead *x)
{
    dist_gather_end();
    x->coming = NULL;
    for (size_t k = 0; k < x->nbuffer; k++)
        x->buffer[k].holds = 0;
}
