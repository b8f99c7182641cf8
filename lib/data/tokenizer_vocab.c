/* Vocabulary and merges of a tokenizer, and the hash of all of it. */
#include "data/tokenizer_load.h"
#include "data/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* The vocabulary. */

/* GPT-2's visible letter of a byte (as a code point) backwards; -1: none. */
static int
letter_byte(uint32_t c)
{
    int other = 0;

    if ((c >= 33 && c <= 126) || (c >= 161 && c <= 172) ||
        (c >= 174 && c <= 255))
        return (int)c;
    if (c < 256 || c >= 256 + 68)
        return -1;
    for (int b = 0; b < 256; b++) {
        if ((b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174)
            continue;
        if (other++ == (int)c - 256)
            return b;
    }
    return -1;
}

/* Append the bytes that s means to the pool: 1; or, where a letter is not of
 * the alphabet, s itself: 0. */
static int
put_bytes(struct buf *pool, const char *s, size_t n, const int16_t *letter)
{
    const unsigned char *p = (const unsigned char *)s, *const end = p + n;
    const size_t start = pool->n;
    size_t k;

    for (; p < end; p += k) {
        const uint32_t c = uni_next(p, end, &k);

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

/* Largest id of the vocabulary into t->nid, every one checked. */
static int
check_ids(struct tokenizer *t, const json_t *vocab, struct err *e)
{
    const size_t n = json_object_size(vocab), most = 2 * n + 4096;
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)vocab, key, v) {
        const json_int_t id = json_integer_value(v);

        if (!json_is_integer(v) || id < 0 || (uint64_t)id >= most)
            return tok_bad(e, "model.vocab.%.60s: is no id below %zu "
                "(there are %zu entries)", key, most, n);
        if ((size_t)id >= t->nid)
            t->nid = (size_t)id + 1;
    }
    return n ? 0 : tok_bad(e, "model.vocab: is empty or no object");
}

int
vocab_load(struct tokenizer *t, const json_t *vocab, struct err *e)
{
    int16_t letter[512];
    const char *key;
    json_t *v;
    size_t n;

    for (uint32_t c = 0; c < 512; c++)
        letter[c] = (int16_t)letter_byte(c);
    if (check_ids(t, vocab, e))
        return -1;
    n = table_size(json_object_size(vocab));
    t->text = xcalloc(t->nid, sizeof *t->text);
    t->slot = xreallocarray(NULL, n, sizeof *t->slot);
    t->slot_mask = n - 1;
    memset(t->slot, 0xff, n * sizeof *t->slot);
    t->slot_tag = xcalloc(n, 1);
    memset(t->byte_id, 0xff, sizeof t->byte_id);
    json_object_foreach((json_t *)(uintptr_t)vocab, key, v) {
        const uint32_t id = (uint32_t)json_integer_value(v);
        const size_t off = t->pool.n;
        int bytes;

        if (t->text[id].known)
            return tok_bad(e, "model.vocab.%.60s: id %u is taken already", key,
                id);
        if (t->sp) {
            buf_adds(&t->pool, key);
            bytes = 1;
        } else {
            bytes = put_bytes(&t->pool, key, strlen(key), letter);
        }
        vocab_set(t, id, off, t->pool.n - off);
        if (bytes && t->text[id].n > 0)
            slot_put(t, id);
        if (bytes && !t->sp && t->text[id].n == 1)
            t->byte_id[(unsigned char)t->pool.p[off]] = id;
    }
    return 0;
}

/* The merges. */

int
vocab_id(const json_t *vocab, const char *s, uint32_t *id)
{
    const json_t *v = json_object_get(vocab, s);

    *id = (uint32_t)json_integer_value(v);
    return v ? 0 : -1;
}

/* The vocabulary by its texts, for the merges: jansson's own search waits for
 * memory at each step. */
struct name {
    uint64_t hash;
    const char *s;              /* NULL: an empty slot; of the JSON */
    uint32_t n, id;
};
struct names {
    struct name *v;
    size_t mask;
};

/* The slot of s[n], or the empty one where it belongs. */
static struct name *
name_slot(const struct names *k, const char *s, size_t n, uint64_t hash)
{
    size_t i = (size_t)hash & k->mask;

    while (k->v[i].s && !(k->v[i].hash == hash && k->v[i].n == n &&
        memcmp(k->v[i].s, s, n) == 0))
        i = (i + 1) & k->mask;
    return &k->v[i];
}

static struct names
names_of(const json_t *vocab)
{
    const size_t size = table_size(json_object_size(vocab));
    const struct names k = { xtable(size, sizeof *k.v, 0), size - 1 };
    const char *key;
    json_t *v;

    json_object_foreach((json_t *)(uintptr_t)vocab, key, v) {
        const size_t n = strlen(key);
        const uint64_t h = XXH3_64bits(key, n);

        *name_slot(&k, key, n, h) = (struct name){ h, key, (uint32_t)n,
            (uint32_t)json_integer_value(v) };
    }
    return k;
}

static int
name_id(const struct names *k, const char *s, size_t n, uint32_t *id)
{
    const struct name *x = name_slot(k, s, n, XXH3_64bits(s, n));

    *id = x->id;
    return x->s ? 0 : -1;
}

/* Merge i as two texts in b, each with its NUL; *second is where the second
 * begins. */
static int
merge_texts(const json_t *m, size_t i, struct buf *b, size_t *second,
    struct err *e)
{
    const char *x = json_string_value(m), *y;

    buf_clear(b);
    if (x) {
        y = strchr(x, ' ');
        if (!y || strchr(y + 1, ' '))
            return tok_bad(e, "model.merges.%zu: is not two words", i);
        buf_add(b, x, (size_t)(y - x));
        y++;
    } else {
        x = json_string_value(json_array_get(m, 0));
        y = json_string_value(json_array_get(m, 1));
        if (json_array_size(m) != 2 || !x || !y)
            return tok_bad(e, "model.merges.%zu: is not two texts", i);
        buf_adds(b, x);
    }
    buf_addc(b, '\0');
    *second = b->n;
    buf_adds(b, y);
    return 0;
}

/* A later merge of the same pair takes its place, as in the original. */
static void
pair_put(struct tokenizer *t, uint32_t a, uint32_t b, struct merge m)
{
    const uint64_t key = pair_key(a, b), h = pair_hash(key);
    size_t i = (size_t)(h >> 12) & t->pair_mask;

    while (t->pair[i].m.rank != TOK_NONE && t->pair[i].key != key)
        i = (i + 1) & t->pair_mask;
    t->pair[i].key = key;
    t->pair[i].m = m;
    t->pair_bits[pair_word(t, h)] |= pair_bit(h);
}

/* Merges of two bytes in a table of their own: most lookups are of those. */
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

/* Into rank[n] that of each merge: its place, or, in a tie, that of the
 * tie's first. */
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
            return tok_bad(e, "model.retort_ties.%zu: is no [first, number] "
                "of %zu merges behind those before it", k, n);
        next = (size_t)i + (size_t)m;
        for (size_t at = (size_t)i; at < next; at++)
            rank[at] = (uint32_t)i;
    }
    return 0;
}

int
merges_load(struct tokenizer *t, const json_t *model, uint64_t **pairs,
    struct err *e)
{
    const json_t *merges = json_object_get(model, "merges");
    const size_t n = json_array_size(merges), size = table_size(n - n / 4);
    struct names names = names_of(json_object_get(model, "vocab"));
    uint32_t *rank = xreallocarray(NULL, n + 1, sizeof *rank);
    struct buf b = { 0 };
    size_t second = 0;
    int r = ranks_load(rank, n, json_object_get(model, "retort_ties"), e);

    if (!json_is_array(merges))
        r = tok_bad(e, "model.merges: is no list");
    t->pair = xtable(size, sizeof *t->pair, 0xff);
    t->pair_words = n / 6 + 1;          /* some 10 bits for each */
    t->pair_bits = xcalloc(t->pair_words, sizeof *t->pair_bits);
    t->pair_mask = size - 1;
    t->nmerge = n;
    *pairs = xreallocarray(NULL, n + 1, sizeof **pairs);
    for (size_t i = 0; i < n && r == 0; i++) {
        struct merge m = { rank[i], 0 };
        uint32_t x, y;

        r = merge_texts(json_array_get(merges, i), i, &b, &second, e);
        if (r)
            break;
        if (name_id(&names, b.p, second - 1, &x) ||
            name_id(&names, b.p + second, b.n - second, &y)) {
            r = tok_bad(e, "model.merges.%zu: a part of it is not in the "
                "vocabulary", i);
            break;
        }
        memmove(b.p + second - 1, b.p + second, b.n - second + 1);
        if (name_id(&names, b.p, b.n - 1, &m.id))
            r = tok_bad(e, "model.merges.%zu: its result is not in the "
                "vocabulary", i);
        pair_put(t, x, y, m);
        (*pairs)[i] = (uint64_t)x << 32 | y;
    }
    buf_release(&b);
    free(names.v);
    free(rank);
    if (r == 0) {
        fill_byte_pairs(t);
        lines_index(t);
    }
    return r;
}

/* The canonical form that tok_hash hashes: little-endian numbers, each text
 * after its length. */

static void
hash_number(XXH3_state_t *x, uint64_t v)
{
    unsigned char b[8];

    for (int i = 0; i < 8; i++)
        b[i] = (unsigned char)(v >> 8 * i);
    XXH3_128bits_update(x, b, sizeof b);
}

static void
hash_text(XXH3_state_t *x, const char *s, size_t n)
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

        hash_text(x, a->s, a->n);
        hash_number(x, a->id);
        hash_number(x, (uint64_t)(a->single_word | a->lstrip << 1 |
            a->rstrip << 2 | a->normalized << 3 | a->special << 4));
    }
}

/* What byte-level tokenizers without a normalizer do not have. */
static void
hash_steps(XXH3_state_t *x, const struct tokenizer *t)
{
    if (t->nnorm > 0) {
        hash_text(x, "normalizer", 10);
        hash_number(x, t->nnorm);
    }
    for (size_t i = 0; i < t->nnorm; i++) {
        hash_number(x, (uint64_t)t->norm_op[i].kind);
        hash_text(x, t->norm_op[i].from, t->norm_op[i].nfrom);
        hash_text(x, t->norm_op[i].to, t->norm_op[i].nto);
    }
    if (t->prefix != PREFIX_NONE || t->put_gap) {
        hash_text(x, "prefix", 6);
        hash_number(x, (uint64_t)t->prefix);
        hash_text(x, t->gap, strlen(t->gap));
        hash_number(x, (uint64_t)t->put_gap);
    }
    if (t->sp) {
        hash_text(x, "characters", 10);
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
        die(EX_SYS, "out of memory");
    XXH3_128bits_reset(x);
    hash_text(x, "retort tokenizer 1", 18);
    hash_number(x, t->nid);
    for (size_t i = 0; i < t->nid; i++) {
        hash_number(x, t->text[i].known);
        hash_text(x, t->pool.p + t->text[i].off, t->text[i].n);
    }
    for (size_t i = 0; i < t->nmerge; i++) {
        const uint32_t a = (uint32_t)(pairs[i] >> 32), b = (uint32_t)pairs[i];
        const struct merge m = pair_find(t, a, b);

        if (m.rank > i)             /* overruled by a later one */
            continue;
        hash_number(x, pairs[i]);
        hash_number(x, m.id);
        if (m.rank < i) {           /* tied with that one */
            hash_text(x, "tie", 3);
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
