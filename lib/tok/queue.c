/* Pieces merged side by side; see queue.h. */
#include "tok/queue.h"
#include "tok/bpe.h"
#include "tok/pairs.h"
#include "tok/scan.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define QUEUE_NAME queue_ref

/* The smallest of 8*n keys. */
static inline uint32_t
smallest(const uint32_t *key, size_t n)
{
    uint32_t a = key[0], b = key[1], c = key[2], d = key[3];

    for (size_t i = 4; i < 8 * n; i += 4) {
        a = key[i] < a ? key[i] : a;
        b = key[i + 1] < b ? key[i + 1] : b;
        c = key[i + 2] < c ? key[i + 2] : c;
        d = key[i + 3] < d ? key[i + 3] : d;
    }
    a = b < a ? b : a;
    c = d < c ? d : c;
    return c < a ? c : a;
}

static inline uint64_t
line_find(const uint64_t *line, uint64_t want, unsigned shift)
{
    uint64_t least = UINT64_MAX;

    for (int i = 0; i < LINE_PAIRS; i++) {
        const uint64_t x = line[i] ^ want;

        least = x < least ? x : least;
    }
    return least >> shift ? UINT64_MAX : least;
}

#include "tok/queue_vec.h"

uint32_t
queue_other(const struct tokenizer *t, struct merge_job *j, uint32_t i)
{
    const uint32_t after = j->alive & (UINT32_MAX - 1) << i;
    const struct merge m = pair_find(t, j->id[i], j->id[__builtin_ctz(after)]);

    j->to[i] = m.id;
    return m.rank == TOK_NONE ? TOK_NONE : m.rank << 5 | i;
}

static unsigned
bits_of(size_t n)
{
    unsigned k = 1;

    while (n >> k)
        k++;
    return k;
}

static void
line_put(const struct lines *l, const struct pair_slot *p)
{
    uint64_t want,
        *line = (uint64_t *)(uintptr_t)line_of(l, (uint32_t)(p->key >> 32),
            (uint32_t)p->key, &want);

    for (int i = 0; i < LINE_PAIRS; i++)
        if (line[i] == 0) {
            line[i] = want | (uint64_t)p->m.rank << l->id_bits | p->m.id;
            break;
        }
}

void
lines_index(struct tokenizer *t)
{
    struct lines *const l = &t->lines;
    unsigned bits = 1;

    l->id_bits = bits_of(t->nid);
    while (
        bits < 2 * l->id_bits - 1 && (size_t)LINE_PAIRS / 2 << bits < t->nmerge)
        bits++;
    l->tag_bits = 2 * l->id_bits - bits;
    l->shift = l->id_bits + bits_of(t->nmerge);
    if (t->nmerge > QUEUE_RANKS || l->shift + l->tag_bits > 62)
        return;
    l->mask = (UINT64_C(1) << 2 * l->id_bits) - 1;
    l->tag_mask = (UINT64_C(1) << l->tag_bits) - 1;
    l->id_mask = (UINT64_C(1) << l->id_bits) - 1;
    l->v = xtable((size_t)LINE_PAIRS << bits, sizeof *l->v, 0);
    for (size_t i = 0; i <= t->pair_mask; i++) {
        const struct pair_slot *const soon = &t->pair[(i + 32) & t->pair_mask];
        uint64_t want;

        __builtin_prefetch(line_of(l, (uint32_t)(soon->key >> 32),
            (uint32_t)soon->key, &want));
        if (t->pair[i].m.rank != TOK_NONE)
            line_put(l, &t->pair[i]);
    }
}

/* A new job of `symbols` symbols, which the caller sets. */
static struct merge_job *
job_next(const struct tokenizer *t, struct queue *q, size_t symbols)
{
    struct merge_job *const j = &q->job[q->n++];

    memset(j->key, 0xff, sizeof j->key);
    j->n = (uint32_t)symbols;
    j->alive = UINT32_MAX >> (32 - j->n);
    j->at[0] = j->at[1] = j->n - 1;
    j->want[0] = j->want[1] = LINE_NONE;
    j->line[0] = j->line[1] = t->lines.v;
    return j;
}

/* Set the symbols of a job; their pairs are looked up when the job is begun. */
static void
job_symbols(const struct tokenizer *t, struct merge_job *j, const uint32_t *id)
{
    uint64_t want;

    memcpy(j->id, id, j->n * sizeof *id);
    j->begun = 0;
    for (size_t i = 0; i + 1 < j->n; i++)
        __builtin_prefetch(line_of(&t->lines, id[i], id[i + 1], &want));
}

/* Set the symbols of a job, where id[i] is the symbol of byte[i], and look up
 * their pairs in the small table of byte pairs. */
static void
job_bytes(const struct tokenizer *t, struct merge_job *j, const uint32_t *id,
    const unsigned char *byte)
{
    memcpy(j->id, id, j->n * sizeof *id);
    j->begun = 1;
    for (uint32_t i = 0; i + 1 < j->n; i++) {
        const struct merge m = t->byte_pair[byte[i] << 8 | byte[i + 1]];

        j->key[i] = m.rank == TOK_NONE ? TOK_NONE : m.rank << 5 | i;
        j->to[i] = m.id;
    }
}

/* Add a job for the piece of *at, and a hole in *out for its ids. */
static struct merge_job *
job_add(const struct tokenizer *t, struct tok_scratch *s,
    const struct cache_at *at, size_t symbols, struct tok_ids *out)
{
    struct merge_job *j;

    if (!s->queue) {
        s->queue = xmalloc(sizeof *s->queue);
        s->queue->n = 0;
    }
    if (s->queue->n == QUEUE_JOBS)
        queue_flush(t, s, out);
    j = job_next(t, s->queue, symbols);
    j->place = *at;
    j->hole = out->n;
    tok_ids_room(out, symbols);
    out->n += symbols;
    return j;
}

void
queue_bytes(const struct tokenizer *t, struct tok_scratch *s,
    const struct cache_at *at, struct tok_ids *out)
{
    uint32_t id[CACHE_BYTES];
    unsigned char byte[CACHE_BYTES];
    size_t n = 0;
    struct merge_job *j;

    for (size_t i = 0; i < at->n; i++) {
        id[n] = t->byte_id[at->p[i]];
        byte[n] = at->p[i];
        n += id[n] != TOK_NONE;
    }
    if (n == 0)
        return;
    j = job_add(t, s, at, n, out);
    job_bytes(t, j, id, byte);
    if (t->ignore_merges) {
        j->hash = vocab_hash(at->p, at->n);
        __builtin_prefetch(t->slot_tag + (j->hash & t->slot_mask));
    }
}

void
queue_symbols(const struct tokenizer *t, struct tok_scratch *s,
    const struct cache_at *at, const uint32_t *id, size_t n,
    struct tok_ids *out)
{
    if (n > 0)
        job_symbols(t, job_add(t, s, at, n, out), id);
}

struct merge_job *
queue_window(const struct tokenizer *t, struct queue *q, const uint32_t *id,
    const unsigned char *byte, size_t n, size_t from)
{
    struct merge_job *const j = job_next(t, q, n);

    if (byte)
        job_bytes(t, j, id + from, byte + from);
    else
        job_symbols(t, j, id + from);
    j->from = from;
    j->between = 0;
    return j;
}

/* Give each piece whose whole text is a token the id of that token, without
 * merges. */
static void
take_whole(const struct tokenizer *t, struct queue *q)
{
    for (size_t i = 0; i < q->n; i++) {
        struct merge_job *const j = &q->job[i];
        const uint32_t id = vocab_find(t, j->place.p, j->place.n, j->hash);

        if (id == TOK_NONE)
            continue;
        memset(j->key, 0xff, sizeof j->key);
        j->id[0] = id;
        j->alive = 1;
    }
}

/* Write the ids of all jobs to their holes, and close the gaps. */
static void
fill_holes(const struct queue *q, struct tok_ids *out)
{
    uint32_t *to = out->v + q->job[0].hole;

    for (size_t i = 0; i < q->n; i++) {
        const struct merge_job *const j = &q->job[i];
        const size_t from = j->hole + j->n;
        const size_t n = (i + 1 < q->n ? j[1].hole : out->n) - from;
        uint32_t *const begin = to;

        for (uint32_t left = j->alive; left; left &= left - 1)
            *to++ = j->id[__builtin_ctz(left)];
        if (!cache_known(&j->place))
            cache_put(&j->place, begin, (size_t)(to - begin));
        memmove(to, out->v + from, n * sizeof *to);
        to += n;
    }
    out->n = (size_t)(to - out->v);
}

void
queue_flush(const struct tokenizer *t, struct tok_scratch *s,
    struct tok_ids *out)
{
    struct queue *const q = s->queue;

    if (!q || q->n == 0)
        return;
    if (t->ignore_merges && !t->sp) /* sp.c looks up whole words before it
                                     * queues them */
        take_whole(t, q);
    s->code->merge(t, q);
    fill_holes(q, out);
    q->n = 0;
}
