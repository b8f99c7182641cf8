/*
 * Byte-level BPE: the text is cut into pieces, each of which is looked up in a
 * cache of bounded size and merged if it is not there.
 */
#include "tok/bpe.h"
#include "tok/merge.h"
#include "tok/tokenizer.h"
#include "tok/queue.h"
#include "tok/scan.h"
#include "tok/window.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

uint64_t
vocab_hash(const void *p, size_t n)
{
    return XXH3_64bits(p, n);
}

uint32_t
vocab_find(const struct tokenizer *t, const void *p, size_t n, uint64_t hash)
{
    const uint8_t want = (uint8_t)(hash >> 56 | 1);
    size_t i = (size_t)hash & t->slot_mask;
    uint8_t tag;

    for (; (tag = t->slot_tag[i]) != 0; i = (i + 1) & t->slot_mask) {
        const struct tok_text *x = &t->text[t->slot[i]];

        if (tag == want && x->n == n && memcmp(t->pool.p + x->off, p, n) == 0)
            return t->slot[i];
    }
    return TOK_NONE;
}

/* symbols.next for tokenizers whose symbols are bytes. */
static size_t
bpe_bytes(const struct tokenizer *t, struct symbols *x, uint32_t *id,
    size_t room)
{
    const unsigned char *p = x->p;
    size_t n = 0;

    for (; p < x->end && n < room; p++) {
        id[n] = t->byte_id[*p];
        if (x->byte)
            x->byte[n] = *p;
        n += id[n] != TOK_NONE;
    }
    x->p = p;
    return n;
}

/* Append the ids of a piece by merging it, without the cache. */
static void
piece_merge(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    uint32_t *id;
    size_t k = 0;

    if (t->ignore_merges) {
        const uint32_t whole = vocab_id_of(t, p, n);

        if (whole != TOK_NONE) {
            tok_ids_push(out, whole);
            return;
        }
    }
    if (n > CACHE_BYTES) {
        const struct symbols x = { .next = bpe_bytes,
            .bytes = 1,
            .p = p,
            .end = p + n };

        window_merge(t, s, &x, out);
        return;
    }
    id = bpe_symbols(s, n);
    for (size_t i = 0; i < n; i++) {
        if (t->byte_id[p[i]] == TOK_NONE)
            continue;
        id[k++] = t->byte_id[p[i]];
    }
    k = bpe_merge(t, s, id, k, NULL);
    tok_ids_add(out, id, k);
}

/* Append the ids of a piece, or a hole that the queue will fill.  *at: as
 * cache_seek set it; not used unless the piece has 2 .. CACHE_BYTES bytes. */
static inline void
piece_put(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct cache_at *at, struct tok_ids *out)
{
    const size_t before = out->n;

    if (n == 1) {
        if (t->byte_id[*p] != TOK_NONE)
            tok_ids_push(out, t->byte_id[*p]);
    } else if (n > CACHE_BYTES) {
        piece_merge(t, s, p, n, out);
    } else if (cache_find(at, out)) {
        return;
    } else if (queue_takes(t)) {
        queue_bytes(t, s, at, out);
    } else {
        piece_merge(t, s, p, n, out);
        cache_put(at, out->v + before, out->n - before);
    }
}

/* Pieces of a batch: all of them are cut and their cache slots prefetched
 * before the first is looked up. */
#define BATCH 32

struct piece_batch {
    size_t n;
    uint32_t at[BATCH], len[BATCH];
    struct cache_at slot[BATCH];
};

static inline void
batch_add_piece(const struct tok_scratch *s, struct piece_batch *b, size_t i,
    size_t n, size_t room)
{
    b->at[b->n] = (uint32_t)i;
    b->len[b->n] = (uint32_t)n;
    if (n > 1 && n <= CACHE_BYTES)
        cache_seek(&s->cache, s->scan.base + i, n, room - i, &b->slot[b->n]);
    b->n++;
}

/* Encode the pieces that certainly end in the stretch; returns the offset of
 * the next piece. */
static size_t
stretch(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *end, struct tok_ids *out)
{
    const struct scan *const f = &s->scan;
    const size_t room = (size_t)(end - f->base);
    struct piece_batch b;
    size_t i = 0, k = 1;

    while (k > 0 && i < f->n) {
        for (b.n = 0; b.n < BATCH && i < f->n; i += k) {
            if ((k = scan_piece(f, i, end)) == 0)
                break;
            batch_add_piece(s, &b, i, k, room);
        }
        for (size_t m = 0; m < b.n; m++)
            piece_put(t, s, f->base + b.at[m], b.len[m], &b.slot[m], out);
    }
    return i;
}

void
bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    const unsigned char *const end = p + n;
    size_t k;

    while (p < end) {
        k = 0;
        if (t->split != SPLIT_NONE) {
            scan_begin(&s->scan, s->code, t->split, p, end);
            k = stretch(t, s, end, out);
        }
        if (k == 0) {
            struct cache_at at;

            k = split_piece(t->split, p, end);
            if (k > 1 && k <= CACHE_BYTES)
                cache_seek(&s->cache, p, k, (size_t)(end - p), &at);
            piece_put(t, s, p, k, &at, out);
        }
        p += k;
    }
    queue_flush(t, s, out);
}

struct tok_scratch *
tok_scratch_new(const struct tokenizer *t)
{
    return tok_scratch_share(t, 1);
}

struct tok_scratch *
tok_scratch_share(const struct tokenizer *t, size_t threads)
{
    struct tok_scratch *s = xcalloc(1, sizeof *s);

    s->code = t->code;
    cache_init(&s->cache, t->nid, threads);
    return s;
}

void
tok_scratch_free(struct tok_scratch *s)
{
    if (!s)
        return;
    cache_release(&s->cache);
    free(s->id);
    free(s->rank);
    free(s->prev);
    free(s->next);
    free(s->heap);
    free(s->window);
    free(s->queue);
    buf_release(&s->norm[0]);
    buf_release(&s->norm[1]);
    buf_release(&s->pre);
    free(s);
}
