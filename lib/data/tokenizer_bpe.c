/*
 * Byte-level BPE: the text is cut into pieces, each of which is looked up in a
 * cache of bounded size and merged if it is not there.
 */
#include "data/tokenizer_impl.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

uint32_t
vocab_find(const struct tokenizer *t, const void *p, size_t n)
{
    size_t i = (size_t)XXH3_64bits(p, n) & t->slot_mask;
    uint32_t id;

    while ((id = t->slot[i]) != TOK_NONE) {
        if (t->text[id].n == n &&
            memcmp(t->pool.p + t->text[id].off, p, n) == 0)
            return id;
        i = (i + 1) & t->slot_mask;
    }
    return TOK_NONE;
}

void
tok_ids_push(struct tok_ids *out, uint32_t id)
{
    if (out->n == out->cap) {
        out->cap = out->cap ? 2 * out->cap : 256;
        out->v = xreallocarray(out->v, out->cap, sizeof *out->v);
    }
    out->v[out->n++] = id;
}

void
tok_ids_add(struct tok_ids *out, const uint32_t *id, size_t n)
{
    if (out->cap - out->n < n) {
        while (out->cap - out->n < n)
            out->cap = out->cap ? 2 * out->cap : 256;
        out->v = xreallocarray(out->v, out->cap, sizeof *out->v);
    }
    memcpy(out->v + out->n, id, n * sizeof *id);
    out->n += n;
}

/* Ids of a piece, without the cache. */
static void
piece_merge(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    uint32_t *id;
    unsigned char few[CACHE_BYTES];
    size_t k = 0;

    if (t->ignore_merges) {
        const uint32_t whole = vocab_find(t, p, n);

        if (whole != TOK_NONE) {
            tok_ids_push(out, whole);
            return;
        }
    }
    id = bpe_symbols(s, n);
    for (size_t i = 0; i < n; i++) {
        if (t->byte_id[p[i]] == TOK_NONE)
            continue;
        if (n <= CACHE_BYTES)
            few[k] = p[i];
        id[k++] = t->byte_id[p[i]];
    }
    k = n <= CACHE_BYTES ? bpe_merge_bytes(t, s, id, k, few) :
        bpe_merge(t, s, id, k);
    tok_ids_add(out, id, k);
}

static inline void
piece_put(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, size_t room, struct tok_ids *out)
{
    const size_t before = out->n;
    struct cache_at at;

    if (n == 1) {
        if (t->byte_id[*p] != TOK_NONE)
            tok_ids_push(out, t->byte_id[*p]);
        return;
    }
    if (n > CACHE_BYTES) {
        piece_merge(t, s, p, n, out);
        return;
    }
    if (!cache_get(s, p, n, room, &at, out)) {
        piece_merge(t, s, p, n, out);
        cache_put(&at, out->v + before, out->n - before);
    }
}

void
bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    const unsigned char *const end = p + n;

    while (p < end) {
        const size_t k = split_piece(t->split, p, end);

        piece_put(t, s, p, k, (size_t)(end - p), out);
        p += k;
    }
}

struct tok_scratch *
tok_scratch_new(const struct tokenizer *t)
{
    struct tok_scratch *s = xcalloc(1, sizeof *s);

    (void)t;
    s->cache = xcalloc((size_t)1 << CACHE_BITS, sizeof *s->cache);
    return s;
}

void
tok_scratch_free(struct tok_scratch *s)
{
    if (!s)
        return;
    free(s->cache);
    free(s->id);
    free(s->rank);
    free(s->prev);
    free(s->next);
    free(s->heap);
    free(s);
}
