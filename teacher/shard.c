/*
 * A model whose blocks' matrices are split over ranks: see shard.h.  A block's
 * matrices are concatenated as they are stored; each rank holds an equal part
 * of these bytes, and the block is gathered before it is run.
 */
#include "shard.h"
#include "base/mem.h"
#include "dist/ahead.h"
#include "model/config/family.h"
#include "model/files/fetch.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 };

struct shard {
    struct fetch fetch;
    struct model run; /* copy of *m whose matrices are in gathered memory */
    const struct model *m;
    const struct dist_group *group;
    struct arena mem;
    struct ahead_array *part; /* [blocks] this rank's part of a block's bytes */
    size_t blocks;
    struct ahead *ahead;
};

static int
is_split(const struct weight *w, int t)
{
    return w->rows > 0 && !block_is_vector(t);
}

/* Bytes that a matrix takes in its block, with its mask and padding. */
static size_t
tensor_bytes(const struct weight *w)
{
    const size_t n = weight_bytes(w);

    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static size_t
block_bytes(const struct block *b)
{
    size_t n = 0;

    for (int t = 0; t < W_N; t++)
        if (is_split(&b->w[t], t))
            n += tensor_bytes(&b->w[t]);
    return n;
}

/* p [n] holds the bytes of a block from offset `at` on; `out` is for the
 * block's bytes [from, to).  Copy those of them that p has to their places in
 * `out`. */
static void
read_bytes(const unsigned char *p, size_t n, size_t at, size_t from, size_t to,
    unsigned char *out)
{
    const size_t a = from > at ? from - at : 0, b = to > at ? to - at : 0;
    const size_t end = b < n ? b : n;

    if (a < end)
        memcpy(out + (at + a - from), p + a, end - a);
}

/* Copy the bytes [from, to) of block i to `out`.  A matrix precedes its
 * mask. */
static void
read_part(const struct shard *s, size_t i, size_t from, size_t to,
    unsigned char *out)
{
    size_t at = 0;

    for (int t = 0; t < W_N; t++) {
        const struct weight *w = &s->m->block[i].w[t];
        const size_t n = w->rows * w->stride;

        if (!is_split(w, t))
            continue;
        read_bytes(w->data, n, at, from, to, out);
        if (w->mask != NULL)
            read_bytes(w->mask, weight_bytes(w) - n, at + n, from, to, out);
        if (from < at + tensor_bytes(w) && to > at)
            model_forget(s->m, w);
        at += tensor_bytes(w);
    }
}

/* Set the addresses of block i's matrices, which are concatenated at p. */
static void
point_block(struct shard *s, size_t i, const unsigned char *p)
{
    for (int t = 0; t < W_N; t++) {
        struct weight *w = &s->run.block[i].w[t];

        if (!is_split(w, t))
            continue;
        w->data = p;
        if (w->mask != NULL)
            w->mask = p + w->rows * w->stride;
        p += tensor_bytes(w);
    }
}

/* Callbacks of struct fetch.  The embedding and the head stay mapped. */
static void
shard_now(void *ctx, size_t group)
{
    struct shard *s = ctx;

    if (group < s->blocks)
        point_block(s, group, ahead_now(s->ahead, group));
}

static void
shard_next(void *ctx, size_t group)
{
    const struct shard *s = ctx;

    if (group < s->blocks)
        ahead_next(s->ahead, group);
}

static void
shard_done(void *ctx, size_t group)
{
    const struct shard *s = ctx;

    if (group < s->blocks)
        ahead_done(s->ahead, group);
}

/* Allocate this rank's part of every block.  Read it too, unless the arena only
 * counts bytes. */
static void
lay_out_parts(struct shard *s)
{
    const size_t n = s->group->n, r = s->group->rank;

    for (size_t i = 0; i < s->blocks; i++) {
        size_t *at = xcalloc(n + 1, sizeof *at);
        unsigned char *own;

        dist_split(block_bytes(&s->m->block[i]), n, ALIGN, at);
        own = arena_alloc(&s->mem, at[r + 1] - at[r], 1);
        if (own != NULL)
            read_part(s, i, at[r], at[r + 1], own);
        free((void *)(uintptr_t)s->part[i].at);
        s->part[i] = (struct ahead_array){ own, at, 0 };
    }
}

struct shard *
shard_new(const struct model *m, const struct dist_group *g, size_t blocks)
{
    const size_t buffers = dist_overlaps() ? 2 : 1; /* for gathered blocks */
    struct shard *s = xcalloc(1, sizeof *s);
    const size_t L = m->c.L;

    s->m = m;
    s->group = g;
    s->blocks = blocks;
    s->part = xcalloc(blocks, sizeof *s->part);
    arena_plan(&s->mem);
    lay_out_parts(s);
    arena_init(&s->mem, s->mem.used);
    lay_out_parts(s);
    s->ahead = ahead_new(g, s->part, blocks, 1, &buffers, 1);
    s->run = *m;
    s->run.block = xcalloc(L, sizeof *s->run.block);
    memcpy(s->run.block, m->block, L * sizeof *m->block);
    for (size_t i = 0; i < L; i++)
        point_block(s, i, s->mem.base); /* a placeholder until it is gathered */
    s->fetch = (struct fetch){ shard_now, shard_next, shard_done, s };
    s->run.fetch = &s->fetch;
    return s;
}

void
shard_free(struct shard *s)
{
    if (s == NULL)
        return;
    ahead_free(s->ahead);
    for (size_t i = 0; i < s->blocks; i++)
        free((void *)(uintptr_t)s->part[i].at);
    free(s->part);
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
shard_own_bytes(const struct shard *s)
{
    return s->mem.cap;
}

size_t
shard_bytes(const struct shard *s)
{
    return s->mem.cap + ahead_bytes(s->ahead);
}

const struct dist_group *
shard_group(const struct shard *s)
{
    return s->group;
}
