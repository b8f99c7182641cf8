/*
 * BPE over characters, as converted SentencePiece models have it.  A stretch
 * of text is one word for the model, whatever its length, but most of it falls
 * apart: where no token that a merge can give holds x before U+2581, no merge
 * crosses the border between them, and what is left and right of it is merged
 * by itself with the same result.  Such x are found in the vocabulary, so text
 * is merged word by word, from a cache where it was seen.
 */
#include "data/tokenizer_impl.h"
#include "data/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x2581             /* stands for a space, e2 96 81 */
#define NO_CUT (UINT32_C(1) << 31)  /* x: a token holds x and MARK */

static inline uint32_t
entry(const struct sp *sp, uint32_t c)
{
    const uint32_t *page = c < 0x110000 ? sp->page[c >> 8] : NULL;

    return page ? page[c & 255] : TOK_NONE;
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

/* The symbols of text.  An unknown token waits until a known character or the
 * end, behind the bytes of others: so does the original. */
static size_t
next_characters(const struct tokenizer *t, struct symbols *x, uint32_t *id,
    size_t room)
{
    const struct sp *sp = t->sp;
    const unsigned char *p = x->p;
    size_t m = 0, k, b;

    for (; p < x->end && m + SYMBOLS_ROOM <= room; p += k) {
        const uint32_t c = entry(sp, uni_next(p, x->end, &k));

        if (c != TOK_NONE) {
            if (x->waits)
                id[m++] = sp->unk;
            x->waits = 0;
            id[m++] = c & ~NO_CUT;
        } else if ((b = as_bytes(sp, p, k, id + m)) > 0) {
            m += b;
        } else if (sp->unk != TOK_NONE) {
            if (x->waits && !sp->fuse)
                id[m++] = sp->unk;
            x->waits = 1;
        }
    }
    if (p == x->end && m < room && x->waits) {
        id[m++] = sp->unk;
        x->waits = 0;
    }
    x->p = p;
    return m;
}

/* Merge p[n] and append the ids. */
static void
merge_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    struct symbols x = { next_characters, p, p + n, 0 };

    if (n <= CACHE_BYTES) {
        uint32_t id[CACHE_BYTES + SYMBOLS_ROOM];
        size_t m = next_characters(t, &x, id, n + SYMBOLS_ROOM);

        m = bpe_merge(t, s, id, m);
        tok_ids_add(out, id, m);
    } else {
        window_merge(t, s, &x, out);
    }
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
    if (n > CACHE_BYTES) {
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

/* Characters before MARK in the text of id, which a merge gives. */
static void
add_borders(struct tokenizer *t, uint32_t id)
{
    const struct tok_text *x = &t->text[id];
    const unsigned char *p = (unsigned char *)t->pool.p + x->off;
    const unsigned char *const end = p + x->n;
    uint32_t a = 0, c;
    size_t k;

    for (int i = 0; p < end; p += k, i++, a = c) {
        c = uni_next(p, end, &k);
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
        if (t->pair[i].m.rank != TOK_NONE) {
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

    for (int b = 0; b < 256; b++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        sp->byte[b] = vocab_find(t, name, 6);
    }
    for (size_t id = 0; id < t->nid; id++)
        if (t->text[id].known)
            add_character(t, (uint32_t)id);
    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair[i].m.rank != TOK_NONE)
            add_borders(t, t->pair[i].m.id);
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
    free(sp);
}
