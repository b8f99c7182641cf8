/*
 * Training of byte-level BPE; see trainer.h.
 *
 * When a pair has appeared in words, an entry that lists these words is pushed
 * on a heap; so a pair may have several entries.  As in Hugging Face's
 * BpeTrainer, merging a pair does not lower its count, and an entry merges the
 * pair only in the words it lists.  Both rules matter if a later merge creates
 * a pair that was merged before.
 */
#include "trainer.h"
#include "tok/pairs.h"
#include "tok/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

struct word {
    size_t at;  /* offset in pool; after begin_training, in sym */
    uint32_t n; /* bytes; after begin_training, symbols */
    int64_t count;
};

struct tpair {
    uint64_t key; /* left << 32 | right */
    int64_t count;
    uint32_t *word; /* [n] words in which the pair appeared since the last
                     * push */
    size_t n, cap;
    int touched; /* 1: this pair is in trainer.touched */
};

struct entry {
    int64_t count;
    size_t pair; /* index in trainer.pair */
    uint64_t key;
    uint32_t *word;
    size_t n;
};

struct trainer {
    struct buf pool;
    struct word *word;
    size_t nword, word_cap;
    uint32_t *slot; /* [mask+1] hash table of words; TOK_NONE: empty */
    size_t mask;
    uint32_t *sym; /* symbols of all words, one word after another */
    struct tpair *pair;
    size_t npair, pair_cap;
    uint32_t *pslot; /* [pmask+1] hash table of pairs */
    size_t pmask;
    struct entry *heap;
    size_t nheap, heap_cap;
    size_t *touched;
    size_t ntouched, touched_cap;
    char **name; /* [nname] text of each id */
    size_t nname, name_cap;
};

struct trainer *
trainer_new(void)
{
    struct trainer *t = xcalloc(1, sizeof *t);

    t->mask = t->pmask = 1023;
    t->slot = xreallocarray(NULL, t->mask + 1, sizeof *t->slot);
    t->pslot = xreallocarray(NULL, t->pmask + 1, sizeof *t->pslot);
    memset(t->slot, 0xff, (t->mask + 1) * sizeof *t->slot);
    memset(t->pslot, 0xff, (t->pmask + 1) * sizeof *t->pslot);
    return t;
}

void
trainer_free(struct trainer *t)
{
    if (!t)
        return;
    for (size_t i = 0; i < t->npair; i++)
        free(t->pair[i].word);
    for (size_t i = 0; i < t->nheap; i++)
        free(t->heap[i].word);
    for (size_t i = 0; i < t->nname; i++)
        free(t->name[i]);
    buf_release(&t->pool);
    free(t->word);
    free(t->slot);
    free(t->sym);
    free(t->pair);
    free(t->pslot);
    free(t->heap);
    free(t->touched);
    free(t->name);
    free(t);
}

/* ---- counting words ---- */

static size_t
word_place(const struct trainer *t, const void *p, size_t n)
{
    size_t i = (size_t)XXH3_64bits(p, n) & t->mask;

    while (t->slot[i] != TOK_NONE) {
        const struct word *w = &t->word[t->slot[i]];

        if (w->n == n && memcmp(t->pool.p + w->at, p, n) == 0)
            break;
        i = (i + 1) & t->mask;
    }
    return i;
}

static void
words_grow(struct trainer *t)
{
    t->mask = 2 * t->mask + 1;
    t->slot = xreallocarray(t->slot, t->mask + 1, sizeof *t->slot);
    memset(t->slot, 0xff, (t->mask + 1) * sizeof *t->slot);
    for (size_t i = 0; i < t->nword; i++) {
        const struct word *w = &t->word[i];

        t->slot[word_place(t, t->pool.p + w->at, w->n)] = (uint32_t)i;
    }
}

/* Add `count` occurrences of the word p[n]. */
static void
word_add(struct trainer *t, const void *p, size_t n, int64_t count)
{
    size_t i = word_place(t, p, n);

    if (t->slot[i] == TOK_NONE) {
        struct word w = { t->pool.n, (uint32_t)n, 0 };

        if (2 * t->nword > t->mask) {
            words_grow(t);
            i = word_place(t, p, n);
        }
        buf_add(&t->pool, p, n);
        t->word = xgrow(t->word, t->nword, &t->word_cap, sizeof w);
        t->slot[i] = (uint32_t)t->nword;
        t->word[t->nword++] = w;
    }
    t->word[t->slot[i]].count += count;
}

void
trainer_text(struct trainer *t, const char *text, size_t n, uint64_t weight)
{
    const unsigned char *p = (const unsigned char *)text, *const end = p + n;

    while (p < end) {
        const size_t k = split_piece(SPLIT_GPT2_DIGITS, p, end);

        word_add(t, p, k, (int64_t)weight);
        p += k;
    }
}

void
trainer_add(struct trainer *t, const struct trainer *from, uint64_t weight)
{
    for (size_t i = 0; i < from->nword; i++) {
        const struct word *w = &from->word[i];

        word_add(t, from->pool.p + w->at, w->n, w->count * (int64_t)weight);
    }
}

/* ---- pairs ---- */

static size_t
pair_place(const struct trainer *t, uint64_t key)
{
    size_t i = (size_t)(pair_hash(key) >> 20) & t->pmask;

    while (t->pslot[i] != TOK_NONE && t->pair[t->pslot[i]].key != key)
        i = (i + 1) & t->pmask;
    return i;
}

static size_t
pair_index(struct trainer *t, uint32_t a, uint32_t b)
{
    const uint64_t key = (uint64_t)a << 32 | b;
    size_t i = pair_place(t, key);

    if (t->pslot[i] != TOK_NONE)
        return t->pslot[i];
    if (2 * t->npair > t->pmask) {
        t->pmask = 2 * t->pmask + 1;
        t->pslot = xreallocarray(t->pslot, t->pmask + 1, sizeof *t->pslot);
        memset(t->pslot, 0xff, (t->pmask + 1) * sizeof *t->pslot);
        for (size_t k = 0; k < t->npair; k++)
            t->pslot[pair_place(t, t->pair[k].key)] = (uint32_t)k;
        i = pair_place(t, key);
    }
    t->pair = xgrow(t->pair, t->npair, &t->pair_cap, sizeof *t->pair);
    memset(&t->pair[t->npair], 0, sizeof *t->pair);
    t->pair[t->npair].key = key;
    t->pslot[i] = (uint32_t)t->npair;
    return t->npair++;
}

/* Count a pair that has appeared in a word (change = 1) or disappeared from it
 * (change = -1). */
static void
pair_change(struct trainer *t, uint32_t a, uint32_t b, int change,
    uint32_t word)
{
    const size_t i = pair_index(t, a, b);
    struct tpair *p = &t->pair[i];

    p->count += change * t->word[word].count;
    if (change < 0)
        return;
    if (!p->touched) {
        p->touched = 1;
        t->touched =
            xgrow(t->touched, t->ntouched, &t->touched_cap, sizeof *t->touched);
        t->touched[t->ntouched++] = i;
    }
    /* Words are visited in order: if `word` is listed, it is listed last. */
    if (p->n > 0 && p->word[p->n - 1] == word)
        return;
    p->word = xgrow(p->word, p->n, &p->cap, sizeof *p->word);
    p->word[p->n++] = word;
}

/* ---- the heap: highest count first, then smallest pair ---- */

static int
pair_before(const struct entry *a, const struct entry *b)
{
    return a->count != b->count ? a->count > b->count : a->key < b->key;
}

static void
sift_pair_down(struct trainer *t, size_t i)
{
    const struct entry v = t->heap[i];

    for (;;) {
        size_t k = 2 * i + 1;

        if (k >= t->nheap)
            break;
        if (k + 1 < t->nheap && pair_before(&t->heap[k + 1], &t->heap[k]))
            k++;
        if (!pair_before(&t->heap[k], &v))
            break;
        t->heap[i] = t->heap[k];
        i = k;
    }
    t->heap[i] = v;
}

static void
push_pair(struct trainer *t, const struct entry *v)
{
    size_t i;

    t->heap = xgrow(t->heap, t->nheap, &t->heap_cap, sizeof *t->heap);
    for (i = t->nheap++; i > 0 && pair_before(v, &t->heap[(i - 1) / 2]);
         i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = *v;
}

/* Push the pairs that have appeared since the last call. */
static void
push_touched(struct trainer *t)
{
    for (size_t i = 0; i < t->ntouched; i++) {
        struct tpair *p = &t->pair[t->touched[i]];
        const struct entry v = { p->count, t->touched[i], p->key, p->word,
            p->n };

        p->touched = 0;
        if (p->count > 0)
            push_pair(t, &v);
        else
            free(p->word);
        p->word = NULL;
        p->n = p->cap = 0;
    }
    t->ntouched = 0;
}

/* Replace the pair (a, b) by c in one word, from left to right. */
static void
merge_word(struct trainer *t, uint32_t word, uint32_t a, uint32_t b, uint32_t c)
{
    struct word *w = &t->word[word];
    uint32_t *s = t->sym + w->at;
    uint32_t out = 0;

    for (uint32_t i = 0; i < w->n; i++) {
        if (!(s[i] == a && i + 1 < w->n && s[i + 1] == b)) {
            s[out++] = s[i];
            continue;
        }
        if (out > 0) {
            pair_change(t, s[out - 1], a, -1, word);
            pair_change(t, s[out - 1], c, 1, word);
        }
        if (i + 2 < w->n) {
            pair_change(t, b, s[i + 2], -1, word);
            pair_change(t, c, s[i + 2], 1, word);
        }
        s[out++] = c;
        i++;
    }
    w->n = out;
}

/* ---- the vocabulary ---- */

static int
byte_is_plain(int b)
{
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
}

/* Add `name` to the vocabulary and return its id; t takes over the name. */
static uint32_t
add_token_name(struct trainer *t, json_t *vocab, char *name)
{
    const json_t *v = json_object_get(vocab, name);

    if (v) {
        free(name);
        return (uint32_t)json_integer_value(v);
    }
    json_object_set_new(vocab, name, json_integer((json_int_t)t->nname));
    t->name = xgrow(t->name, t->nname, &t->name_cap, sizeof *t->name);
    t->name[t->nname] = name;
    return (uint32_t)t->nname++;
}

static char *
letter_name(uint32_t c)
{
    struct buf b = { 0 };

    utf8_put(&b, c);
    return b.p;
}

/* Add the 256 letters of byte-level BPE by code point: visible bytes stand for
 * themselves, other bytes are shown as code points 256, 257, ... */
static void
add_letters(struct trainer *t, json_t *vocab, uint32_t id[256])
{
    uint32_t c = 256;

    for (int b = 0; b < 256; b++)
        if (byte_is_plain(b))
            id[b] = add_token_name(t, vocab, letter_name((uint32_t)b));
    for (int b = 0; b < 256; b++)
        if (!byte_is_plain(b))
            id[b] = add_token_name(t, vocab, letter_name(c++));
}

/* Split the words into symbols and count all pairs. */
static void
begin_training(struct trainer *t, const uint32_t id[256])
{
    t->sym = xreallocarray(NULL, t->pool.n + 1, sizeof *t->sym);
    for (size_t i = 0; i < t->pool.n; i++)
        t->sym[i] = id[(unsigned char)t->pool.p[i]];
    for (size_t i = 0; i < t->nword; i++) {
        const uint32_t *s = t->sym + t->word[i].at;

        for (size_t k = 0; k + 1 < t->word[i].n; k++)
            pair_change(t, s[k], s[k + 1], 1, (uint32_t)i);
    }
    buf_release(&t->pool);
    push_touched(t);
}

static void
make_merges(struct trainer *t, const struct trainer_spec *s, json_t *vocab,
    json_t *merges)
{
    while (t->nname < s->vocab && t->nheap > 0) {
        struct entry top = t->heap[0];
        const int64_t count = t->pair[top.pair].count;
        const uint32_t a = (uint32_t)(top.key >> 32), b = (uint32_t)top.key;
        uint32_t c;

        if (top.count != count) {
            t->heap[0].count = count;
            sift_pair_down(t, 0);
            continue;
        }
        if (count < 1 || (uint64_t)count < s->min_frequency)
            break;
        t->heap[0] = t->heap[--t->nheap];
        if (t->nheap > 0)
            sift_pair_down(t, 0);
        c = add_token_name(t, vocab, xasprintf("%s%s", t->name[a], t->name[b]));
        json_array_append_new(merges,
            json_pack("[s,s]", t->name[a], t->name[b]));
        for (size_t i = 0; i < top.n; i++)
            merge_word(t, top.word[i], a, b, c);
        free(top.word);
        push_touched(t);
        if (s->tick != NULL)
            s->tick(t->nname);
    }
}

static json_t *
byte_level_json(int prefix)
{
    return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel",
        "add_prefix_space", prefix, "trim_offsets", 1, "use_regex", 1);
}

static json_t *
whole_json(const struct trainer_spec *s, json_t *vocab, json_t *merges)
{
    json_t *added = json_array();
    json_t *pre = json_pack("{s:s, s:[{s:s, s:b}, o]}", "type", "Sequence",
        "pretokenizers", "type", "Digits", "individual_digits", 1,
        byte_level_json(0));

    for (size_t i = 0; i < s->nspecial; i++)
        json_array_append_new(added,
            json_pack("{s:i, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (int)i,
                "content", s->special[i], "single_word", 0, "lstrip", 0,
                "rstrip", 0, "normalized", 0, "special", 1));
    return json_pack("{s:s, s:n, s:n, s:o, s:n, s:o, s:n, s:o, s:{s:s, s:n, "
                     "s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:o}}",
        "version", "1.0", "truncation", "padding", "added_tokens", added,
        "normalizer", "pre_tokenizer", pre, "post_processor", "decoder",
        byte_level_json(1), "model", "type", "BPE", "dropout", "unk_token",
        "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0,
        "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab, "merges",
        merges);
}

json_t *
trainer_run(struct trainer *t, const struct trainer_spec *s, struct err *e)
{
    json_t *vocab, *merges;
    uint32_t id[256];

    if (t->pool.n >= UINT32_MAX || t->nword >= UINT32_MAX) {
        err_set(e, EX_INPUT,
            "the words that differ hold more than 2^32 - 1 bytes; train on "
            "less text");
        return NULL;
    }
    vocab = json_object();
    merges = json_array();
    for (size_t i = 0; i < s->nspecial; i++)
        add_token_name(t, vocab, xstrdup(s->special[i]));
    add_letters(t, vocab, id);
    begin_training(t, id);
    make_merges(t, s, vocab, merges);
    return whole_json(s, vocab, merges);
}
