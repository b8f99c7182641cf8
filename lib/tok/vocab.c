/* Vocabulary and merges of a tokenizer, and the hash of the tokenizer. */
#include "tok/vocab.h"
#include "text/unicode.h"
#include "base/mem.h"
#include "tok/bpe.h"
#include "tok/pairs.h"
#include "tok/queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The vocabulary. */

uint32_t
vocab_letter(unsigned b)
{
    if ((b >= 33 && b <= 126) || (b >= 161 && b != 173))
        return b;
    return b <= 32 ? 256 + b : b == 173 ? 323 : 289 + b - 127;
}

/* Append to the pool the bytes that the letters s[n] stand for, and return 1;
 * if a letter stands for no byte, append s itself and return 0. */
static int
put_pool_bytes(struct buf *pool, const char *s, size_t n, const int16_t *letter)
{
    const unsigned char *p = (const unsigned char *)s, *const end = p + n;
    const size_t start = pool->n;
    size_t k;

    for (; p < end; p += k) {
        const uint32_t c = utf8_next(p, end, &k);

        if (c >= 512 || letter[c] < 0) {
            pool->n = start;
            buf_add(pool, s, n);
            return 0;
        }
        buf_addc(pool, letter[c]);
    }
    return 1;
}

void
vocab_set(struct tokenizer *t, size_t id, size_t off, size_t n)
{
    t->text[id].off = off;
    t->text[id].n = (uint32_t)n;
    t->text[id].known = 1;
}

static void
slot_put(struct tokenizer *t, uint32_t id)
{
    const struct tok_text *x = &t->text[id];
    const uint64_t h = XXH3_64bits(t->pool.p + x->off, x->n);
    size_t i = (size_t)h & t->slot_mask;

    while (t->slot_tag[i])
        i = (i + 1) & t->slot_mask;
    t->slot_tag[i] = (uint8_t)(h >> 56 | 1);
    t->slot[i] = id;
}

static size_t
table_size(size_t n)
{
    size_t k = 16;

    while (k < 2 * n)
        k *= 2;
    return k;
}

/* Length of a name as shown in a message. */
static int
shown_length(const struct name *x)
{
    return x->n < 60 ? (int)x->n : 60;
}

/* Check every id of the vocabulary, and set t->nid to 1 + the largest. */
static int
check_vocab_ids(struct tokenizer *t, const struct names *k, struct err *e)
{
    const size_t most = 2 * k->n + 4096;

    for (size_t i = 0; i < k->n; i++) {
        const struct name *const x = &k->v[i];

        if (x->id >= most)
            return tok_bad(e,
                "model.vocab.%.*s: is no id below %zu (there are %zu entries)",
                shown_length(x), x->s, most, k->n);
        if (x->id >= t->nid)
            t->nid = (size_t)x->id + 1;
    }
    return k->n ? 0 : tok_bad(e, "model.vocab: is empty or no object");
}

int
vocab_load(struct tokenizer *t, const struct names *k, struct err *e)
{
    int16_t letter[512];
    size_t n;

    memset(letter, 0xff, sizeof letter);
    for (unsigned b = 0; b < 256; b++)
        letter[vocab_letter(b)] = (int16_t)b;
    if (check_vocab_ids(t, k, e))
        return -1;
    n = table_size(k->n);
    t->text = xcalloc(t->nid, sizeof *t->text);
    t->slot = xreallocarray(NULL, n, sizeof *t->slot);
    t->slot_mask = n - 1;
    memset(t->slot, 0xff, n * sizeof *t->slot);
    t->slot_tag = xcalloc(n, 1);
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    for (size_t i = 0; i < k->n; i++) {
        const struct name *const x = &k->v[i];
        const size_t off = t->pool.n;
        int bytes = 1;

        if (t->text[x->id].known)
            return tok_bad(e, "model.vocab.%.*s: id %u is taken already",
                shown_length(x), x->s, x->id);
        if (t->sp)
            buf_add(&t->pool, x->s, x->n);
        else
            bytes = put_pool_bytes(&t->pool, x->s, x->n, letter);
        vocab_set(t, x->id, off, t->pool.n - off);
        if (bytes && t->text[x->id].n > 0)
            slot_put(t, x->id);
        if (bytes && !t->sp && t->text[x->id].n == 1)
            t->byte_id[(unsigned char)t->pool.p[off]] = x->id;
    }
    return 0;
}

/* The merges. */

/* Add a merge; it replaces an earlier one of the same pair, as in the
 * tokenizers library. */
static void
pair_put(struct tokenizer *t, uint64_t key, struct merge m)
{
    uint64_t bits, *const word = pair_word(t, pair_hash(key), &bits);

    *pair_at(t, key) = (struct pair_slot){ key, m };
    *word |= bits;
}

/* Fill the table of merges of two bytes: most lookups are of such pairs. */
static void
fill_byte_pairs(struct tokenizer *t)
{
    t->byte_pair = xreallocarray(NULL, 65536, sizeof *t->byte_pair);
    for (size_t i = 0; i < 65536; i++) {
        const uint32_t a = t->byte_id[i >> 8], b = t->byte_id[i & 255];

        t->byte_pair[i].rank = TOK_NONE;
        if (a != TOK_NONE && b != TOK_NONE)
            t->byte_pair[i] = pair_find(t, a, b);
    }
}

/* Set rank[n] to each merge's rank: its index, or the index of the first merge
 * of its tie. */
static int
ranks_load(uint32_t *rank, size_t n, const json_t *ties, struct err *e)
{
    size_t next = 0;

    for (size_t i = 0; i < n; i++)
        rank[i] = (uint32_t)i;
    if (ties && !json_is_array(ties))
        return tok_bad(e, "model.retort_ties: is no list");
    for (size_t k = 0; k < json_array_size(ties); k++) {
        const json_t *x = json_array_get(ties, k);
        const json_int_t i = json_integer_value(json_array_get(x, 0));
        const json_int_t m = json_integer_value(json_array_get(x, 1));

        if (json_array_size(x) != 2 || i < (json_int_t)next || m < 2 ||
            (uint64_t)i >= n || (uint64_t)m > n - (size_t)i)
            return tok_bad(e,
                "model.retort_ties.%zu: is no [first, number] "
                "of %zu merges behind those before it",
                k, n);
        next = (size_t)i + (size_t)m;
        for (size_t at = (size_t)i; at < next; at++)
            rank[at] = (uint32_t)i;
    }
    return 0;
}

/* Merges of a batch, which are looked up together, so that their memory can be
 * prefetched. */
#define BATCH 32

struct merge_batch {
    size_t n;
    struct merge_parts part[BATCH];
    uint64_t hash[2][BATCH];
};

static void
batch_add_merge(const struct names *k, struct merge_batch *b,
    const struct merge_parts *p)
{
    const uint64_t x = vocab_hash(p->x, p->nx), y = vocab_hash(p->y, p->ny);

    names_fetch(k, x, -1);
    names_fetch(k, y, -1);
    b->part[b->n] = *p;
    b->hash[0][b->n] = x;
    b->hash[1][b->n++] = y;
}

static int
is_joined(const struct name *x, const struct merge_parts *p)
{
    return x->n == p->nx + p->ny && memcmp(x->s, p->x, p->nx) == 0 &&
        memcmp(x->s + p->nx, p->y, p->ny) == 0;
}

/* The token that two parts become when merged.  Two names are tried first:
 * *last, the result of the merge before, and the name after *last.  b:
 * scratch. */
static const struct name *
result(const struct names *k, const struct name *last,
    const struct merge_parts *p, struct buf *b)
{
    for (int i = 0; i < 2 && last + i < k->v + k->n; i++)
        if (is_joined(last + i, p))
            return last + i;
    buf_clear(b);
    buf_add(b, p->x, p->nx);
    buf_add(b, p->y, p->ny);
    return names_find(k, b->p, b->n, vocab_hash(b->p, b->n));
}

/* Add the merges of a batch, numbered from `first` on; *last: the result of the
 * merge before them. */
static int
batch_flush_merges(struct tokenizer *t, const struct names *k,
    struct merge_batch *b, size_t first, const struct name **last,
    uint64_t *pairs, const uint32_t *rank, struct buf *text, struct err *e)
{
    struct merge m[BATCH];

    for (int step = 0; step < 2; step++)
        for (size_t i = 0; i < b->n; i++) {
            names_fetch(k, b->hash[0][i], step);
            names_fetch(k, b->hash[1][i], step);
        }
    for (size_t i = 0; i < b->n; i++) {
        const struct merge_parts *const p = &b->part[i];
        const struct name *const x = names_find(k, p->x, p->nx, b->hash[0][i]);
        const struct name *const y = names_find(k, p->y, p->ny, b->hash[1][i]);

        if (!x || !y)
            return tok_bad(e,
                "model.merges.%zu: a part of it is not in the vocabulary",
                first + i);
        if ((*last = result(k, *last, p, text)) == NULL)
            return tok_bad(e,
                "model.merges.%zu: its result is not in the vocabulary",
                first + i);
        m[i] = (struct merge){ rank[first + i], (*last)->id };
        pairs[first + i] = pair_key(x->id, y->id);
        __builtin_prefetch(&t->pair[pair_start(t, pairs[first + i])]);
    }
    for (size_t i = 0; i < b->n; i++)
        pair_put(t, pairs[first + i], m[i]);
    b->n = 0;
    return 0;
}

static int
index_merges(struct tokenizer *t, struct merges *m, const struct names *k,
    uint64_t *pairs, const uint32_t *rank, struct err *e)
{
    const struct name *last = k->v;
    struct merge_batch b = { 0 };
    struct buf text = { 0 };
    size_t done = 0;
    int more = 1, r = 0;

    while (more > 0 && r == 0) {
        struct merge_parts p;
        struct err other = { 0 };

        while (b.n < BATCH && (more = merges_next(m, &p, &other)) > 0)
            batch_add_merge(k, &b, &p);
        done += b.n;
        r = batch_flush_merges(t, k, &b, done - b.n, &last, pairs, rank, &text,
            e);
        if (r == 0 && more < 0) {
            *e = other;
            r = more;
        }
    }
    buf_release(&text);
    return r;
}

int
merges_load(struct tokenizer *t, const struct tok_source *src,
    const struct names *names, uint64_t **pairs, struct err *e)
{
    struct merges m;
    uint32_t *rank;
    size_t size;
    int r;

    if (merges_begin(&m, src, e))
        return -1;
    size = table_size(m.n - m.n / 4);
    t->pair = xtable(size, sizeof *t->pair, 0xff);
    t->pair_mask = size - 1;
    t->pair_words = m.n / 6 + 1; /* some 10 bits for each merge */
    t->pair_bits = xcalloc(t->pair_words, sizeof *t->pair_bits);
    t->nmerge = m.n;
    *pairs = xreallocarray(NULL, m.n + 1, sizeof **pairs);
    rank = xreallocarray(NULL, m.n + 1, sizeof *rank);
    r = ranks_load(rank, m.n,
        json_object_get(json_object_get(src->j, "model"), "retort_ties"), e);
    if (r == 0)
        r = index_merges(t, &m, names, *pairs, rank, e);
    free(rank);
    merges_end(&m);
    if (r == 0) {
        fill_byte_pairs(t);
        lines_index(t);
    }
    return r;
}

/* tok_hash hashes a canonical serialisation: numbers are little-endian, and the
 * length of a text comes before the text. */

static void
hash_number(XXH3_state_t *x, uint64_t v)
{
    unsigned char b[8];

    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(v >> 8 * i);
    XXH3_128bits_update(x, b, sizeof b);
}

static void
hash_token_text(XXH3_state_t *x, const char *s, size_t n)
{
    hash_number(x, n);
    if (n)
        XXH3_128bits_update(x, s, n);
}

static void
hash_added(XXH3_state_t *x, const struct added_set *set)
{
    hash_number(x, set->n);
    for (size_t i = 0; i < set->n; i++) {
        const struct added *a = &set->a[i];

        hash_token_text(x, a->s, a->n);
        hash_number(x, a->id);
        hash_number(x,
            (uint64_t)(a->single_word | a->lstrip << 1 | a->rstrip << 2 |
                a->normalized << 3 | a->special << 4));
    }
}

/* Hash the steps that most byte-level tokenizers lack. */
static void
hash_steps(XXH3_state_t *x, const struct tokenizer *t)
{
    if (t->nnorm > 0) {
        hash_token_text(x, "normalizer", 10);
        hash_number(x, t->nnorm);
    }
    for (size_t i = 0; i < t->nnorm; i++) {
        hash_number(x, (uint64_t)t->norm_op[i].kind);
        hash_token_text(x, t->norm_op[i].from, t->norm_op[i].nfrom);
        hash_token_text(x, t->norm_op[i].to, t->norm_op[i].nto);
    }
    if (t->prefix != PREFIX_NONE || t->put_gap) {
        hash_token_text(x, "prefix", 6);
        hash_number(x, (uint64_t)t->prefix);
        hash_token_text(x, t->gap, strlen(t->gap));
        hash_number(x, (uint64_t)t->put_gap);
    }
    if (t->sp) {
        hash_token_text(x, "characters", 10);
        hash_number(x, (uint64_t)t->sp->split);
        hash_number(x, t->sp->unk);
        hash_number(x, (uint64_t)(t->sp->fallback | t->sp->fuse << 1));
    }
}

void
tok_hash_all(struct tokenizer *t, const uint64_t *pairs)
{
    XXH3_state_t *x = XXH3_createState();
    XXH128_canonical_t c;

    if (!x)
        mem_exhausted("state of a hash");
    XXH3_128bits_reset(x);
    hash_token_text(x, "retort tokenizer 1", 18);
    hash_number(x, t->nid);
    for (size_t i = 0; i < t->nid; i++) {
        hash_number(x, t->text[i].known);
        hash_token_text(x, t->pool.p + t->text[i].off, t->text[i].n);
    }
    for (size_t i = 0; i < t->nmerge; i++) {
        const size_t soon = i + BATCH < t->nmerge ? i + BATCH : i;
        const struct merge m = pair_at(t, pairs[i])->m;

        __builtin_prefetch(&t->pair[pair_start(t, pairs[soon])]);
        if (m.rank > i) /* replaced by a later merge */
            continue;
        hash_number(x, pairs[i]);
        hash_number(x, m.id);
        if (m.rank < i) { /* merge i is tied with merge m.rank */
            hash_token_text(x, "tie", 3);
            hash_number(x, m.rank);
        }
    }
    hash_number(x, (uint64_t)t->split);
    hash_number(x, (uint64_t)t->ignore_merges);
    hash_added(x, &t->raw);
    hash_added(x, &t->norm);
    hash_number(x, (uint64_t)t->before);
    hash_number(x, (uint64_t)t->after);
    hash_steps(x, t);
    XXH128_canonicalFromHash(&c, XXH3_128bits_digest(x));
    XXH3_freeState(x);
    for (int i = 0; i < 16; i++)
        snprintf(t->hash + 2 * i, 3, "%02x", c.digest[i]);
}
