/* Arrays gathered when they are read; see ahead.h. */
#include "dist/ahead.h"
#include "base/mem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct buffer {
    char *p;
    size_t kind;
    size_t holds; /* 1 + number of the array it holds; 0: none */
    size_t used;  /* number of the last ahead_now or ahead_next for its array */
    int busy;     /* 1: being read: ahead_now was called, ahead_done not yet */
};

/* This rank's share of an array's copy, which its node keeps (ahead_keep). */
struct copy {
    char *p;
    size_t *at; /* rank r has elements at[r]..at[r+1]-1 */
    int valid;  /* 1: copied since the last ahead_changed */
};

struct ahead {
    const struct dist_group *g;
    struct ahead_array *array;
    size_t count, size;
    struct buffer *buffer;
    size_t nbuffer;
    const struct dist_group *node; /* NULL: no copies */
    struct copy *copy;             /* [count] */
    struct arena arena, copies;
    size_t calls;
    struct buffer *coming; /* the buffer being filled in the background, or
                            * NULL */
};

/* Number of elements in the largest array of this kind. */
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
    for (size_t i = 0; x->node != NULL && i < x->count; i++)
        free(x->copy[i].at);
    free(x->copy);
    arena_release(&x->copies);
    free(x->array);
    free(x->buffer);
    free(x);
}

size_t
ahead_bytes(const struct ahead *x)
{
    return x->arena.cap + x->copies.cap;
}

void
ahead_keep(struct ahead *x, const struct dist_group *node)
{
    size_t bytes = 0;

    x->node = node;
    x->copy = xcalloc(x->count, sizeof *x->copy);
    for (size_t i = 0; i < x->count; i++) {
        struct copy *c = &x->copy[i];
        const size_t *at = x->array[i].at;

        c->at = xcalloc(node->n + 1, sizeof *c->at);
        dist_split(at != NULL ? at[x->g->n] : 0, node->n, 16, c->at);
        bytes += (c->at[node->rank + 1] - c->at[node->rank]) * x->size + 64;
    }
    arena_init(&x->copies, bytes);
    for (size_t i = 0; i < x->count; i++) {
        const size_t *own = x->copy[i].at + node->rank;

        x->copy[i].p = arena_alloc(&x->copies, own[1] - own[0], x->size);
    }
}

/* Find the buffer that holds array i; else the least recently used buffer of
 * its kind that is not being read; NULL: all are being read. */
static struct buffer *
find_buffer(struct ahead *x, size_t i)
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

/* Gather array i into b, in the background if gather is dist_gather_begin. */
static void
gather_into(struct ahead *x, struct buffer *b, size_t i,
    void (*gather)(const struct dist_group *g, void *p, size_t size,
        const size_t *at))
{
    const int near = x->node != NULL && x->copy[i].valid;
    const struct dist_group *g = near ? x->node : x->g;
    const size_t *at = near ? x->copy[i].at : x->array[i].at;
    const void *own = near ? x->copy[i].p : x->array[i].own;
    const size_t from = at[g->rank] * x->size;

    if (b == x->coming)
        dist_gather_end(); /* b is being filled with an array that nobody asked
                            * for */
    x->coming = NULL;
    memcpy(b->p + from, own, at[g->rank + 1] * x->size - from);
    gather(g, b->p, x->size, at);
    b->holds = i + 1;
}

static void
save_share(struct ahead *x, struct copy *c, const char *whole)
{
    const size_t *own = c->at + x->node->rank;

    memcpy(c->p, whole + own[0] * x->size, (own[1] - own[0]) * x->size);
    c->valid = 1;
}

void *
ahead_now(struct ahead *x, size_t i)
{
    struct buffer *b = find_buffer(x, i);

    assert(b != NULL);
    b->used = ++x->calls;
    b->busy = 1;
    if (b->holds != i + 1) {
        gather_into(x, b, i, dist_all_gather);
    } else if (b == x->coming) {
        dist_gather_end();
        x->coming = NULL;
    }
    if (x->node != NULL && !x->copy[i].valid)
        save_share(x, &x->copy[i], b->p);
    return b->p;
}

/* A buffer that is being read is not filled; if all buffers of the kind are
 * being read, nothing happens. */
void
ahead_next(struct ahead *x, size_t i)
{
    struct buffer *b = dist_overlaps() ? find_buffer(x, i) : NULL;

    if (b == NULL || b->holds == i + 1)
        return;
    b->used = ++x->calls;
    gather_into(x, b, i, dist_gather_begin);
    x->coming = b;
}

void
ahead_done(struct ahead *x, size_t i)
{
    find_buffer(x, i)->busy = 0;
}

void
ahead_changed(struct ahead *x)
{
    dist_gather_end();
    x->coming = NULL;
    for (size_t k = 0; k < x->nbuffer; k++)
        x->buffer[k].holds = 0;
    for (size_t i = 0; x->node != NULL && i < x->count; i++)
        x->copy[i].valid = 0;
}
