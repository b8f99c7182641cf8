/*
 * BPE over characters, as converted SentencePiece models have it.  A stretch
 * of text is one word for the model, whatever its length, but most of it falls
 * apart: where no token that a merge can give holds x and y side by side, no
 * merge crosses the border between them, and what is left and right of it is
 * merged by itself with the same result.  Such borders are computed from the
 * vocabulary, so text is merged word by word, from a cache where it was seen.
 */
#include "data/tokenizer_impl.h"
#include "data/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x2581             /* stands for a space, e2 96 81 */
#define NO_CUT (UINT32_C(1) << 31)  /* x: a token holds x and MARK */
#define SEGMENT 48              /* bytes; longer words are cut further */

static inline uint32_t
entry(const struct sp *sp, uint32_t c)
{
    const uint32_t *page = c < 0x110000 ? sp->page[c >> 8] : NULL;

    return page ? page[c & 255] : TOK_NONE;
}

static inline size_t
pair_place(const struct sp *sp, uint32_t x, uint32_t y)
{
    const uint64_t key = (uint64_t)x << 32 | y;
    size_t i = (size_t)(pair_hash(key) >> 20) & sp->pair_mask;

    while (sp->pair[i] && sp->pair[i] != key)
        i = (i + 1) & sp->pair_mask;
    return i;
}

/* May a merge cross the border between characters x and y? */
static int
joined(const struct sp *sp, uint32_t x, uint32_t y)
{
    if (entry(sp, x) == TOK_NONE || entry(sp, y) == TOK_NONE)
        return !sp->free_unknown;
    return sp->pair[pair_place(sp, x, y)] != 0;
}

/* Ids of a character that is not in the vocabulary: its bytes', else 0. */
static size_t
as_bytes(const struct sp *sp, const unsigned char *p, size_t n, uint32_t *id)
{
    if (!sp->fallback)
        return 0;
    for (size_t i = 0; i < n; i++)
        if ((id[i] = sp->byte[p[i]]) == TOK_NONE)
            return 0;
    return n;
}

/* Merge p[n] and append the ids.  An unknown token waits until a known
 * character or the end, behind the bytes of others: so does the original. */
static void
merge_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    const unsigned char *const end = p + n;
    const struct sp *sp = t->sp;
    uint32_t *id = bpe_symbols(s, n);
    size_t m = 0, k, b;
    int waits = 0;

    for (; p < end; p += k) {
        const uint32_t x = entry(sp, uni_next(p, end, &k));

        if (x != TOK_NONE) {
            if (waits)
                id[m++] = sp->unk;
            waits = 0;
            id[m++] = x & ~NO_CUT;
        } else if ((b = as_bytes(sp, p, k, id + m)) > 0) {
            m += b;
        } else if (sp->unk != TOK_NONE) {
            if (waits && !sp->fuse)
                id[m++] = sp->unk;
            waits = 1;
        }
    }
    if (waits)
        id[m++] = sp->unk;
    m = bpe_merge(t, s, id, m);
    tok_ids_add(out, id, m);
}

/* A long word: cut at every border that allows it. */
static void
word_long(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    const unsigned char *const end = p + n, *from = p;
    uint32_t x, y;
    size_t k;

    x = uni_next(p, end, &k);
    for (p += k; p < end; p += k, x = y) {
        y = uni_next(p, end, &k);
        if (p - from >= 16 && !joined(t->sp, x, y)) {
            merge_text(t, s, from, (size_t)(p - from), out);
            from = p;
        }
    }
    merge_text(t, s, from, (size_t)(p - from), out);
}

static inline void
word_put(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, size_t room, struct tok_ids *out)
{
    const size_t before = out->n;
    struct cache_at at;

    if (t->ignore_merges) {
        const uint32_t id = vocab_find(t, p, n);

        if (id != TOK_NONE) {
            tok_ids_push(out, id);
            return;
        }
    }
    if (n > SEGMENT && t->sp->cut) {
        word_long(t, s, p, n, out);
    } else if (n > CACHE_BYTES) {
        merge_text(t, s, p, n, out);
    } else if (!cache_get(s, p, n, room, &at, out)) {
        merge_text(t, s, p, n, out);
        cache_put(&at, out->v + before, out->n - before);
    }
}

/* Where the word that begins at p ends. */
static inline const unsigned char *
word_end(const struct sp *sp, const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = p + 1;

    if (sp->split != SP_MARK && !sp->cut)
        return end;
    for (; (q = memchr(q, 0xe2, (size_t)(end - q))) != NULL; q++) {
        const unsigned char *x;
        uint32_t e;
        size_t k;

        if (end - q < 3)
            break;
        if (q[1] != 0x96 || q[2] != 0x81)
            continue;
        if (sp->split == SP_MARK)
            return q;
        x = uni_before(q, p);
        e = entry(sp, uni_next(x, q, &k));
        if (e == TOK_NONE ? sp->free_unknown : !(e & NO_CUT))
            return q;
    }
    return end;
}

void
sp_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    const unsigned char *const end = p + n, *to = end, *q;

    while (p < end) {
        if (t->sp->split == SP_SPACE) {
            to = memchr(p, ' ', (size_t)(end - p));
            to = to ? to + 1 : end;
        }
        for (; p < to; p = q) {
            q = word_end(t->sp, p, to);
            word_put(t, s, p, (size_t)(q - p), (size_t)(end - p), out);
        }
    }
}

/* The tables. */

static void
pair_add(struct sp *sp, uint32_t x, uint32_t y)
{
    size_t i;

    if (2 * (sp->npair + 1) > sp->pair_mask) {
        const size_t n = sp->pair_mask + 1;
        uint64_t *old = sp->pair;

        sp->pair_mask = 2 * n - 1;
        sp->pair = xcalloc(2 * n, sizeof *sp->pair);
        for (i = 0; i < n; i++)
            if (old[i])
                sp->pair[pair_place(sp, (uint32_t)(old[i] >> 32),
                    (uint32_t)old[i])] = old[i];
        free(old);
    }
    i = pair_place(sp, x, y);
    sp->npair += sp->pair[i] == 0;
    sp->pair[i] = (uint64_t)x << 32 | y;
}

/* A text of the vocabulary that is one character gives that its id. */
static void
add_character(struct tokenizer *t, uint32_t id)
{
    const struct tok_text *x = &t->text[id];
    const unsigned char *p = (unsigned char *)t->pool.p + x->off;
    uint32_t **page, c;
    size_t k;

    if (x->n == 0 || x->n > 4)
        return;
    c = uni_next(p, p + x->n, &k);
    if (c == UTF8_BAD || k != x->n)
        return;
    page = &t->sp->page[c >> 8];
    if (!*page) {
        *page = xreallocarray(NULL, 256, sizeof **page);
        memset(*page, 0xff, 256 * sizeof **page);
    }
    (*page)[c & 255] = id;
}

/* Neighbours in the text of id, which a merge gives. */
static void
add_pairs(struct tokenizer *t, uint32_t id)
{
    const struct tok_text *x = &t->text[id];
    const unsigned char *p = (unsigned char *)t->pool.p + x->off;
    const unsigned char *const end = p + x->n;
    uint32_t a = 0, c;
    size_t k;

    for (int i = 0; p < end; p += k, i++, a = c) {
        c = uni_next(p, end, &k);
        if (i > 0)
            pair_add(t->sp, a, c);
        if (i > 0 && c == MARK && entry(t->sp, a) != TOK_NONE)
            t->sp->page[a >> 8][a & 255] |= NO_CUT;
    }
}

/* Has every unknown character the ids of its bytes, of which no merge holds
 * any? */
static int
unknown_is_free(const struct tokenizer *t)
{
    const struct sp *sp = t->sp;
    uint8_t *part = xcalloc(t->nid, 1);
    int all = sp->fallback, inert;

    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair_tag[i]) {
            part[t->pair[i].key >> 32] = 1;
            part[(uint32_t)t->pair[i].key] = 1;
        }
    inert = sp->unk == TOK_NONE || !part[sp->unk];
    for (int b = 0; b < 256; b++) {
        if (sp->byte[b] == TOK_NONE)
            all = 0;
        else
            inert &= !part[sp->byte[b]];
    }
    free(part);
    return inert && all;
}

void
sp_index(struct tokenizer *t)
{
    struct sp *sp = t->sp;
    char name[8];

    sp->pair_mask = 1023;
    sp->pair = xcalloc(sp->pair_mask + 1, sizeof *sp->pair);
    for (int b = 0; b < 256; b++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        sp->byte[b] = vocab_find(t, name, 6);
    }
    for (size_t id = 0; id < t->nid; id++)
        if (t->text[id].known)
            add_character(t, (uint32_t)id);
    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair_tag[i])
            add_pairs(t, t->pair[i].m.id);
    sp->free_unknown = unknown_is_free(t);
    sp->cut = !t->ignore_merges;
}

void
sp_free(struct sp *sp)
{
    if (!sp)
        return;
    for (size_t i = 0; i < sizeof sp->page / sizeof *sp->page; i++)
        free(sp->page[i]);
    free(sp->pair);
    free(sp);
}
