/*
 * BPE over characters, as in converted SentencePiece models.  For the model all
 * text between two added tokens is one word, but it need not be merged as one.
 * If no token that a merge gives contains the character x followed by U+2581,
 * no merge crosses a border between the two: each side gives the ids that it
 * gives alone.  Characters x that a token has before U+2581 are marked NO_CUT;
 * between any other character and U+2581 text is cut into words, most of which
 * are in the cache.
 */
#include "tok/sp.h"
#include "tok/bpe.h"
#include "tok/merge.h"
#include "tok/queue.h"
#include "text/unicode.h"
#include "tok/window.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARK 0x2581 /* stands for a space */
#define MARK_BYTES "\xe2\x96\x81"
#define NO_CUT (UINT32_C(1) << 31) /* a token has the character and then MARK */

static inline uint32_t
entry(const struct sp *sp, uint32_t c)
{
    const uint32_t *page = c < 0x110000 ? sp->page[c >> 8] : NULL;

    return page ? page[c & 255] : TOK_NONE;
}

/* Set id[n] to the tokens of the n bytes of an unknown character.  Returns n;
 * 0: a byte has no token, or there is no byte fallback. */
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

/* symbols.next for tokenizers whose symbols are characters.  As in the
 * tokenizers library, sp.unk for an unknown character is delayed until the next
 * known character or the end, and so comes after byte tokens in between. */
static size_t
sp_symbols(const struct tokenizer *t, struct symbols *x, uint32_t *id,
    size_t room)
{
    const struct sp *sp = t->sp;
    const unsigned char *p = x->p;
    size_t m = 0, k, b;

    if (x->lead)
        id[m++] = entry(sp, MARK) & ~NO_CUT;
    x->lead = 0;
    for (; p < x->end && m + SYMBOLS_ROOM <= room; p += k) {
        const uint32_t c = entry(sp, utf8_next(p, x->end, &k));

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

/* Merge p[n], with a MARK before it if lead is 1, and append the ids. */
static void
merge_sp_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int lead, struct tok_ids *out)
{
    struct symbols x = { .next = sp_symbols,
        .p = p,
        .end = p + n,
        .lead = lead };

    if (n <= CACHE_BYTES) {
        uint32_t id[CACHE_BYTES + SYMBOLS_ROOM];
        size_t m = sp_symbols(t, &x, id, n + SYMBOLS_ROOM);

        m = bpe_merge(t, s, id, m, NULL);
        tok_ids_add(out, id, m);
    } else {
        window_merge(t, s, &x, out);
    }
}

/* With ignore_merges, append the id of a word that is a token and return 1;
 * else 0. */
static inline int
word_whole(const struct tokenizer *t, const unsigned char *p, size_t n,
    struct tok_ids *out)
{
    const uint32_t id = t->ignore_merges ? vocab_id_of(t, p, n) : TOK_NONE;

    if (id == TOK_NONE)
        return 0;
    tok_ids_push(out, id);
    return 1;
}

/* Words of a batch, whose cache slots are prefetched, as in bpe.c. */
#define BATCH 32

struct word_batch {
    size_t n;
    struct cache_at at[BATCH];
};

static inline void
batch_add_word(const struct tok_scratch *s, struct word_batch *b,
    const unsigned char *p, size_t n, size_t room)
{
    struct cache_at *const at = &b->at[b->n++];

    at->p = p;
    at->n = n;
    if (n <= CACHE_BYTES)
        cache_seek(&s->cache, p, n, room, at);
}

static void
batch_flush_words(const struct tokenizer *t, struct tok_scratch *s,
    struct word_batch *b, struct tok_ids *out)
{
    for (size_t i = 0; i < b->n; i++) {
        struct cache_at *const at = &b->at[i];
        const size_t before = out->n;

        if (word_whole(t, at->p, at->n, out)) {
            continue;
        } else if (at->n > CACHE_BYTES) {
            merge_sp_text(t, s, at->p, at->n, 0, out);
        } else if (cache_find(at, out)) {
            continue;
        } else if (queue_takes(t)) {
            struct symbols x = { .next = sp_symbols,
                .p = at->p,
                .end = at->p + at->n };
            uint32_t id[CACHE_BYTES + SYMBOLS_ROOM];

            queue_symbols(t, s, at, id,
                sp_symbols(t, &x, id, at->n + SYMBOLS_ROOM), out);
        } else {
            merge_sp_text(t, s, at->p, at->n, 0, out);
            cache_put(at, out->v + before, out->n - before);
        }
    }
    b->n = 0;
}

/* The first space or byte 0xe2, with which a MARK begins, from p on; end: there
 * is none. */
static inline const unsigned char *
mark_near(const unsigned char *p, const unsigned char *end)
{
    const uint64_t one = UINT64_C(0x0101010101010101), high = one << 7;

    for (; end - p >= 8; p += 8) {
        uint64_t v, a, b;

        memcpy(&v, p, 8);
        a = v ^ ' ' * one;
        b = v ^ 0xe2 * one;
        a = ((a - one) & ~a & high) | ((b - one) & ~b & high);
        if (a)
            return p + __builtin_ctzll(a) / 8;
    }
    while (p < end && *p != ' ' && *p != 0xe2)
        p++;
    return p;
}

/* Can no merge join character c and a MARK behind it? */
static inline int
is_border(const struct sp *sp, uint32_t c)
{
    const uint32_t e = entry(sp, c);

    return sp->split == SP_MARK ||
        (e == TOK_NONE ? sp->free_unknown : !(e & NO_CUT));
}

/* Can no merge join the character that ends before q (p < q) and a MARK at
 * q? */
static inline int
cut_before(const struct sp *sp, const unsigned char *p, const unsigned char *q)
{
    uint32_t e = q[-1];
    size_t k;

    if (e >= 0x80)
        e = utf8_next(uni_before(q, p), q, &k);
    return is_border(sp, e);
}

/* The end of the word that begins at p. */
static inline const unsigned char *
word_end(const struct sp *sp, const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = p + 1;

    if (sp->split != SP_MARK && !sp->cut)
        return end;
    for (; (q = mark_near(q, end)) < end; q++) {
        if (*q == ' ' ? !sp->spaces
                      : end - q < 3 || q[1] != 0x96 || q[2] != 0x81)
            continue;
        if (cut_before(sp, p, q))
            return q;
    }
    return end;
}

/* Encode the first word with a MARK before it.  Its text is a local array, so
 * it is merged now and not queued. */
static void
word_lead(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out)
{
    unsigned char all[CACHE_BYTES + 1] = " ";
    const size_t before = out->n;
    struct cache_at at;

    if (n >= CACHE_BYTES) {
        merge_sp_text(t, s, p, n, 1, out);
        return;
    }
    memcpy(all + 1, p, n++);
    cache_seek(&s->cache, all, n, n, &at);
    if (!word_whole(t, all, n, out) && !cache_find(&at, out)) {
        merge_sp_text(t, s, all, n, 0, out);
        cache_put(&at, out->v + before, out->n - before);
    }
}

void
sp_gap(const struct tokenizer *t, struct tok_scratch *s, const unsigned char *p,
    size_t n, int lead, struct tok_ids *out)
{
    const unsigned char *const end = p + n, *to = end, *q;
    struct word_batch b;

    b.n = 0;
    if (lead) {
        q = word_end(t->sp, p, end);
        word_lead(t, s, p, (size_t)(q - p), out);
        p = q;
    }
    while (p < end) {
        if (t->sp->split == SP_SPACE && !t->sp->spaces) {
            to = memchr(p, ' ', (size_t)(end - p));
            to = to ? to + 1 : end;
        }
        for (; p < to; p = q) {
            q = word_end(t->sp, p, to);
            batch_add_word(s, &b, p, (size_t)(q - p), (size_t)(end - p));
            if (b.n == BATCH)
                batch_flush_words(t, s, &b, out);
        }
    }
    batch_flush_words(t, s, &b, out);
    queue_flush(t, s, out);
}

void
sp_text(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out)
{
    const struct sp *const sp = t->sp;
    int lead = sp->lead == PREFIX_ALWAYS || (sp->lead == PREFIX_FIRST && first);

    if (sp->lead_once &&
        (*p == ' ' || (n >= 3 && memcmp(p, MARK_BYTES, 3) == 0)))
        lead = 0;
    sp_gap(t, s, p, n, lead, out);
}

/* The tables. */

/* The address of a character's entry, to set it. */
static uint32_t *
character(struct sp *sp, uint32_t c)
{
    uint32_t **const page = &sp->page[c >> 8];

    if (!*page) {
        *page = xreallocarray(NULL, 256, sizeof **page);
        memset(*page, 0xff, 256 * sizeof **page);
    }
    return *page + (c & 255);
}

/* If the text of id is one character, make id that character's entry. */
static void
add_character(struct tokenizer *t, uint32_t id)
{
    const struct tok_text *x = &t->text[id];
    const unsigned char *p = (unsigned char *)t->pool.p + x->off;
    uint32_t c;
    size_t k;

    if (x->n == 0 || x->n > 4)
        return;
    c = utf8_next(p, p + x->n, &k);
    if (c == UTF8_BAD || k != x->n)
        return;
    *character(t->sp, c) = id;
}

/* Set NO_CUT for the characters that stand before a MARK in the text of id, the
 * result of a merge. */
static void
add_borders(struct tokenizer *t, uint32_t id)
{
    const struct tok_text *x = &t->text[id];
    const unsigned char *p = (unsigned char *)t->pool.p + x->off;
    const unsigned char *const end = p + x->n;
    uint32_t a = 0, c;
    size_t k;

    if (x->n < 4 || !memchr(p + 1, MARK_BYTES[0], x->n - 1))
        return;
    for (int i = 0; p < end; p += k, i++, a = c) {
        c = utf8_next(p, end, &k);
        if (i > 0 && c == MARK && entry(t->sp, a) != TOK_NONE)
            t->sp->page[a >> 8][a & 255] |= NO_CUT;
    }
}

/* Is every unknown character encoded as its bytes, and is no merge made of byte
 * tokens or sp.unk? */
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

/* Can sp_text do all that normalizer and pre-tokenizer do?  Sets sp->lead and
 * sp->lead_once. */
static int
only_marks(const struct tokenizer *t)
{
    struct sp *sp = t->sp;
    int replaced = t->put_gap;

    sp->lead = t->prefix;
    sp->lead_once = t->put_gap;
    if (t->put_gap && t->nnorm > 0)
        return 0;
    for (size_t i = 0; i < t->nnorm; i++) {
        const struct norm_op *o = &t->norm_op[i];

        if (o->nto != 3 || memcmp(o->to, MARK_BYTES, 3) != 0)
            return 0;
        if (o->kind == NORM_PREPEND && sp->lead == PREFIX_NONE)
            sp->lead = PREFIX_ALWAYS;
        else if (o->kind == NORM_REPLACE && o->nfrom == 1 && *o->from == ' ')
            replaced = 1;
        else
            return 0;
    }
    return replaced && !t->ignore_merges;
}

void
sp_index(struct tokenizer *t)
{
    struct sp *sp = t->sp;
    char name[8];

    for (int b = 0; b < 256; b++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)b);
        sp->byte[b] = vocab_id_of(t, name, 6);
    }
    for (size_t id = 0; id < t->nid; id++)
        if (t->text[id].known)
            add_character(t, (uint32_t)id);
    for (size_t i = 0; i <= t->pair_mask; i++)
        if (t->pair[i].m.rank != TOK_NONE)
            add_borders(t, t->pair[i].m.id);
    sp->free_unknown = unknown_is_free(t);
    sp->cut = !t->ignore_merges;
    sp->spaces = entry(sp, MARK) != TOK_NONE && only_marks(t);
    if (sp->spaces)
        *character(sp, ' ') = entry(sp, MARK);
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
