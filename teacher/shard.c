/*
 * A teacher whose blocks' matrices ranks have parts of: see teacher.h.  A
 * block's are one row of bytes, tensor after tensor as they are stored, which
 * is cut evenly and gathered as a whole before the block is run.
 */
#include "teacher.h"
#include "base/mem.h"
#include "cli/die.h"
#include "model/fetch.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

struct shard {
    struct fetch fetch;
    struct model run; /* m, but for where its blocks' matrices are */
    const struct model *m;
    const struct dist_group *group;
    struct arena mem;
    unsigned char **own; /* [L] this rank's part of each block */
    size_t **at;         /* [L][n+1] parts, bytes */
    unsigned char *whole;
    size_t there; /* the block that is there, or L */
};

static int
in_parts(const struct weight *w, int t)
{
    return w->rows > 0 && !block_is_vector(t);
}

/* Bytes of a matrix among its block's. */
static size_t
tensor_bytes(const struct weight *w)
{
    const size_t n = w->rows * w->stride;

    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t
block_bytes(const struct block *b)
{
    size_t n = 0;

    for (int t = 0; t < W_N; t++)
        if (in_parts(&b->w[t], t))
            n += tensor_bytes(&b->w[t]);
    return n;
}

/* Bytes from..to of block i, as they lie in files. */
static void
read_part(const struct shard *s, size_t i, size_t from, size_t to,
    unsigned char *out)
{
    size_t at = 0;

    for (int t = 0; t < W_N; t++) {
        const struct weight *w = &s->m->block[i].w[t];
        size_t a, b, n;

        if (!in_parts(w, t))
            continue;
        n = w->rows * w->stride;
        a = from > at ? from - at : 0;
        b = to > at ? to - at : 0;
        b = b < n ? b : n;
        if (a < b) {
            memcpy(out + (at + a - from), w->data + a, b - a);
            model_forget(s->m, w);
        }
        at += tensor_bytes(w);
    }
}

/* The matrices of block i are at p. */
static void
point(struct shard *s, size_t i, const unsigned char *p)
{
    for (int t = 0; t < W_N; t++) {
        struct weight *w = &s->run.block[i].w[t];

        if (!in_parts(w, t))
            continue;
        w->data = p;
        p += tensor_bytes(w);
    }
}

/* Embedding and head stay mapped.  A block that is run several times, for some
 * rows each, comes once. */
static void
now(void *ctx, size_t group)
{
    struct shard *s = ctx;
    const size_t *at, r = s->group->rank;

    if (group >= s->m->c.L || group == s->there)
        return;
    at = s->at[group];
    memcpy(s->whole + at[r], s->own[group], at[r + 1] - at[r]);
    dist_all_gather(s->group, s->whole, 1, at);
    point(s, group, s->whole);
    s->there = group;
}

static void
nothing(void *ctx, size_t group)
{
    (void)ctx, (void)group;
}

static void
layout(struct shard *s)
{
    const size_t L = s->m->c.L, n = s->group->n, r = s->group->rank;
    size_t most = 0;

    for (size_t i = 0; i < L; i++) {
        const size_t bytes = block_bytes(&s->m->block[i]);

        dist_split(bytes, n, ALIGN, s->at[i]);
        s->own[i] = arena_alloc(&s->mem, s->at[i][r + 1] - s->at[i][r], 1);
        most = bytes > most ? bytes : most;
    }
    s->whole = arena_alloc(&s->mem, most, 1);
}

/* All of its memory is touched, as is said before the first batch. */
struct shard *
shard_new(const struct model *m, const struct dist_group *g)
{
    struct shard *s = xcalloc(1, sizeof *s);
    const size_t L = m->c.L, r = g->rank;

    s->m = m;
    s->group = g;
    s->there = L;
    s->own = xcalloc(L, sizeof *s->own);
    s->at = xcalloc(L, sizeof *s->at);
    for (size_t i = 0; i < L; i++)
        s->at[i] = xcalloc(g->n + 1, sizeof **s->at);
    arena_plan(&s->mem);
    layout(s);
    arena_init(&s->mem, s->mem.used);
    layout(s);
    memset(s->whole, 0, s->mem.cap - (size_t)(s->whole - s->mem.base));
    s->run = *m;
    s->run.block = xcalloc(L, sizeof *s->run.block);
    memcpy(s->run.block, m->block, L * sizeof *m->block);
    for (size_t i = 0; i < L; i++) {
        read_part(s, i, s->at[i][r], s->at[i][r + 1], s->own[i]);
        point(s, i, s->whole);
    }
    s->fetch = (struct fetch){ now, nothing, nothing, s };
    s->run.fetch = &s->fetch;
    return s;
}

void
shard_free(struct shard *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; i < s->m->c.L; i++)
        free(s->at[i]);
    free(s->at);
    free(s->own);
    free(s->run.block);
    arena_release(&s->mem);
    free(s);
}

const struct model *
shard_model(const struct shard *s)
{
    return &s->run;
}

size_t
shard_bytes(const struct shard *s)
{
    return s->mem.cap;
}

const struct dist_group *
shard_group(const struct shard *s)
{
    return s->group;
}
