/*
 * BPE of pieces that are not in the cache.  Merging one piece spends most of
 * its time on cache misses in the table of merges, where the new pairs of each
 * merge are looked up.  So several pieces are merged in turn, one merge of each
 * at a time, and the lines of the table that a piece needs next are prefetched
 * while the others have their turns.  The output has a gap ("hole") for the ids
 * of each piece in the queue, which queue_flush closes.
 */
#ifndef TOK_QUEUE_H
#define TOK_QUEUE_H

#include "tok/tokenizer.h"

#include <stddef.h>
#include <stdint.h>

#define QUEUE_JOBS 32
#define QUEUE_SYMBOLS 32              /* symbols at most; `alive` has 32 bits */
#define QUEUE_RANKS (UINT32_MAX >> 5) /* most merges whose keys fit */
_Static_assert(CACHE_BYTES + 1 <= QUEUE_SYMBOLS, "symbols of a piece");

/* A piece that is being merged.  If symbol i merges with the next symbol,
 * key[i] is rank << 5 | i, with the rank of that merge, and to[i] is the id
 * that the merge gives; else key[i] is TOK_NONE.  So the smallest key is the
 * next merge: the lowest rank, leftmost. */
struct merge_job {
    uint32_t key[QUEUE_SYMBOLS], to[QUEUE_SYMBOLS], id[QUEUE_SYMBOLS];
    uint32_t n;     /* symbols before merging */
    uint32_t alive; /* bit i: symbol i has not been merged into another */
    int begun;      /* are all keys set, except those of the two pairs below? */
    /* The two pairs of the latest merge, which turn() looks up next.  at: a
     * pair's first symbol; line: its bucket; want: upper bits of its entry
     * (line_of). */
    uint32_t at[2];
    const uint64_t *line[2];
    uint64_t want[2];
    uint64_t hash; /* vocab_hash of the piece, if a whole piece may be a
                    * token */
    size_t hole;   /* offset of the hole, n ids, in the output */
    struct cache_at place;
    /* for a window of a long piece (window.c): */
    size_t from;    /* symbols of the piece before the window's first */
    size_t between; /* 1 + number of the window that connects this window with
                     * the next; 0: none */
};

struct queue {
    struct merge_job job[QUEUE_JOBS];
    size_t n;
};

/* The entry to look for if there is no pair: no entry has these upper bits. */
#define LINE_NONE (UINT64_C(3) << 62)

/* The bucket of a pair; *want: the upper bits of its entry, down to the tag. */
static inline const uint64_t *
line_of(const struct lines *l, uint32_t a, uint32_t b, uint64_t *want)
{
    /* no two pairs have the same h: multiplying by an odd number modulo a power
     * of two is a bijection */
    const uint64_t h =
        ((uint64_t)a << l->id_bits | (a ^ b)) * UINT64_C(0x9e3779b97f4a7c15) &
        l->mask;

    *want = UINT64_C(1) << 63 | (h & l->tag_mask) << l->shift;
    return l->v + LINE_PAIRS * (h >> l->tag_bits);
}

/* Look up pair i, which is not in its full bucket, in the table of all merges.
 * Sets j->to[i] and returns the pair's key. */
uint32_t queue_other(const struct tokenizer *t, struct merge_job *j,
    uint32_t i);

/* Merge the symbols of every job, independently of other jobs. */
void queue_ref(const struct tokenizer *t, struct queue *q);
void queue_avx2(const struct tokenizer *t, struct queue *q);
void queue_avx512(const struct tokenizer *t, struct queue *q);
void queue_neon(const struct tokenizer *t, struct queue *q);

/* Can the queue merge for this tokenizer? */
static inline int
queue_takes(const struct tokenizer *t)
{
    return t->lines.v != NULL;
}

/* Queue the piece of *at, which has 2 bytes or more.  Its symbols are its bytes
 * (queue_bytes), or id[n], n <= QUEUE_SYMBOLS (queue_symbols). */
void queue_bytes(const struct tokenizer *t, struct tok_scratch *s,
    const struct cache_at *at, struct tok_ids *out);
void queue_symbols(const struct tokenizer *t, struct tok_scratch *s,
    const struct cache_at *at, const uint32_t *id, size_t n,
    struct tok_ids *out);

/* Add to a queue that has room a window of a long piece: the n symbols from
 * id[from] on, 2 <= n <= QUEUE_SYMBOLS.  byte: NULL, or id[i] is the symbol of
 * byte[i]. */
struct merge_job *queue_window(const struct tokenizer *t, struct queue *q,
    const uint32_t *id, const unsigned char *byte, size_t n, size_t from);

/* Merge all queued pieces, and write their ids to the holes in *out and to the
 * cache. */
void queue_flush(const struct tokenizer *t, struct tok_scratch *s,
    struct tok_ids *out);

/* Fill t->lines. */
void lines_index(struct tokenizer *t);

#endif
