/*
 * Text that cannot be cut, a stretch at a time: see tok_encode_open.
 *
 * Raw text goes up to the first added token, is normalised, and then split into
 * pieces.  A piece whose end is not there yet is fed to the merges as far as it
 * surely reaches, but for its last characters: a piece that begins with them
 * ends where this one does.
 */
#include "data/tokenizer_impl.h"
#include "data/unicode.h"
#include "data/unicode_nfc.h"

#include <stdlib.h>

#ifndef LEAST
#define LEAST ((size_t)256 << 10)   /* bytes of a piece that is fed */
#endif
#define MARGIN 16                   /* bytes that patterns look ahead */

struct open {
    const struct tokenizer *t;
    const struct tok_more *more;
    int flags;
    struct buf *raw;        /* not normalised yet */
    struct buf gap;         /* normalised, up to an added token */
    size_t at;              /* bytes of it that are done */
    size_t longest;         /* added token that counts, bytes */
    int read_all;           /* raw holds the end of the text */
    int ended;              /* gap holds its end */
    size_t token;           /* bytes of the token that raw begins with then */
    unsigned first;         /* class of the piece's first character */
    int newline;            /* it has an end of line */
    unsigned seen;          /* letters: upper case, lower case, others (U_L) */
};

static unsigned
class_at(const unsigned char *p, const unsigned char *end, size_t *k)
{
    const uint32_t c = uni_next(p, end, k);

    return c == UTF8_BAD ? 0 : uni_class(c);
}

/* May the character at p change what is before it, or be changed? */
static int
joins(const unsigned char *p, const unsigned char *end)
{
    size_t k;
    const uint32_t c = uni_next(p, end, &k);

    return c != UTF8_BAD && c < NFC_LIMIT &&
        (nfc_bits[nfc_index[c / 64]] >> (c & 63) & 1);
}

/* Bytes of raw that can be normalised. */
static size_t
settled(const struct open *o, size_t n)
{
    const unsigned char *const p = (const unsigned char *)o->raw->p;

    while (n > 0) {
        while (--n > 0 && (p[n] & 0xc0) == 0x80)
            ;
        if (!joins(p + n, p + o->raw->n))
            break;
    }
    return n;
}

/* Normalise what can be; 0: it is the end of the gap, or nothing was read. */
static int
grow(struct open *o)
{
    const struct added *a;
    struct buf *const raw = o->raw;
    const unsigned char *p, *token = NULL;
    size_t n, most;

    while (!o->ended) {
        if (!o->read_all)
            o->read_all = o->more->read(o->more->ctx, raw) == 0;
        p = (const unsigned char *)raw->p;
        n = raw->n;
        if (o->longest > 0)
            token = added_first(&o->t->raw, p, p + n, o->flags, &a);
        most = o->read_all ? n : n > o->longest ? n - o->longest : 0;
        if (token && (size_t)(token - p) <= most) {
            n = (size_t)(token - p);
            o->token = a->n;
            o->ended = 1;
        } else {
            o->ended = o->read_all;
            for (n = most; n > 0 && n < raw->n && (p[n] & 0xc0) == 0x80; n--)
                ;
        }
        if (!o->ended && o->t->nfc)
            n = settled(o, n);
        if (n == 0)
            continue;
        if (o->t->nfc)
            nfc_append(raw->p, n, &o->gap);
        else
            buf_add(&o->gap, raw->p, n);
        memmove(raw->p, raw->p + n, raw->n - n);
        raw->n -= n;
        return 1;
    }
    return 0;
}

/* Text that is done goes. */
static void
shift(struct open *o)
{
    memmove(o->gap.p, o->gap.p + o->at, o->gap.n - o->at);
    o->gap.n -= o->at;
    o->at = 0;
}

/* Where the run of characters of these classes that ends p .. end begins. */
static const unsigned char *
last_run(const unsigned char *p, const unsigned char *end, unsigned classes)
{
    size_t k;

    while (end > p) {
        const unsigned char *q = uni_before(end, p);

        if (!(class_at(q, end, &k) & classes))
            break;
        end = q;
    }
    return end;
}

/* Up to here what follows the gap's text does not change where pieces end. */
static const unsigned char *
certain(const struct open *o, const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q = last_run(p, end, U_S);

    if (o->ended)
        return end;
    if (split_by_case(o->t->split)) {
        const unsigned char *word = last_run(p, end, U_L | U_M);

        q = word < q ? word : q;
    }
    return q - p > MARGIN ? (end - q > MARGIN ? q : end - MARGIN) : p;
}

/* Of a piece of white space: the last end of line in it, or what stands for all
 * where none was there. */
static const unsigned char *
reach_space(struct open *o, const unsigned char *p, const unsigned char *last)
{
    const int lines = o->t->split != SPLIT_GPT2 &&
        o->t->split != SPLIT_GPT2_DIGITS;

    for (const unsigned char *q = last; lines && q > p; q--)
        if (q[-1] == '\n' || q[-1] == '\r') {
            o->newline = 1;
            return q - 1;
        }
    return o->newline ? p : last;
}

/* The same of a word whose end depends on the case of its letters: c[3] are the
 * classes of the last ones. */
static const unsigned char *
reach_cased(struct open *o, const unsigned char *p, const unsigned char *last,
    const unsigned *c)
{
    const unsigned same = c[0] & c[1] & c[2], any = c[0] | c[1] | c[2];
    const unsigned char *q = p;
    unsigned seen = o->seen;
    size_t k;

    for (; q < last; q += k) {
        const unsigned x = class_at(q, last, &k);

        if (x & (U_L | U_M))
            seen |= x & U_UP ? U_UP : x & U_LOW ? U_LOW : U_L;
    }
    if (!(same & U_LOW) && !((same & U_UP) && seen == U_UP) &&
        ((any & (U_UP | U_LOW)) || (seen & U_LOW)))
        return p;
    o->seen = seen;
    return last;
}

/* How far the piece that goes on at p, and at end, surely reaches. */
static const unsigned char *
reach(struct open *o, const unsigned char *p, const unsigned char *end)
{
    const unsigned char *q[3];
    unsigned c[3], same = ~0u;
    size_t k;

    for (int i = 2; i >= 0; i--) {
        q[i] = uni_before(i == 2 ? end : q[i + 1], p);
        if (q[i] == p)
            return p;
        c[i] = class_at(q[i], end, &k);
        same &= c[i];
    }
    if (same & U_S)
        return o->first & U_S ? reach_space(o, p, q[1]) : p;
    if (same & U_L)
        return split_by_case(o->t->split) ? reach_cased(o, p, q[1], c) : q[1];
    if (same & U_N)
        return o->t->split == SPLIT_GPT2 ? q[1] : p;
    return (c[0] | c[1] | c[2]) & (U_L | U_N | U_S | U_M) ? p : q[1];
}

static const unsigned char *
piece_end(const struct open *o, const unsigned char *p,
    const unsigned char *end)
{
    return o->t->sp ? sp_word_end(o->t->sp, p, end) :
        p + split_piece(o->t->split, p, end);
}

/* The next stretch of an open piece. */
static void
more_piece(const struct tokenizer *t, struct symbols *x)
{
    struct open *const o = x->open;

    for (shift(o);; grow(o)) {
        const unsigned char *const p = (const unsigned char *)o->gap.p;
        const unsigned char *const end = p + o->gap.n, *q;

        x->p = p;
        q = x->end = piece_end(o, p, end);
        if (o->ended || (t->sp ? q < end : q <= certain(o, p, end))) {
            x->more = NULL;
            break;
        }
        if (t->sp)
            x->end = uni_before(end, p);
        else if (q == end || last_run(p, end, U_S) == p)
            x->end = reach(o, p, end);
        else
            continue;
        if (x->end > p)
            break;
    }
    o->at = (size_t)(x->end - x->p);
}

static size_t
take(struct symbols *x, struct tok_ids *out, size_t n)
{
    const struct open *const o = x->open;

    return o->more->take(o->more->ctx, out, n);
}

/* Merge the piece that begins the gap's text, and is not all there. */
static int
merge_piece(struct open *o, struct tok_scratch *s, int lead,
    struct tok_ids *out, struct err *e)
{
    const struct tokenizer *t = o->t;
    const unsigned char *const p = (const unsigned char *)o->gap.p;
    const struct symbols x = { .next = t->sp ? sp_symbols : bpe_bytes,
        .p = p, .end = p, .lead = lead, .more = more_piece, .take = take,
        .open = o };
    size_t k;

    o->first = class_at(p, p + o->gap.n, &k);
    if (window_merge(t, s, &x, !t->sp, out) < 0)
        return err_set(e, EX_INPUT, "a word of more than %zu KiB needs the "
            "memory to merge all of it", LEAST >> 10);
    return 1;
}

/* Bytes of the gap's text in pieces that end for sure; 0: the first one does
 * not.  White space at the end of a text is another piece than before a word,
 * so it ends what is encoded only where it is one piece alone. */
static size_t
whole_pieces(const struct open *o)
{
    const unsigned char *const p = (const unsigned char *)o->gap.p;
    const unsigned char *const end = p + o->gap.n, *q = p, *next, *last = p;
    const unsigned char *const sure = o->t->sp ? end - !o->ended :
        certain(o, p, end);
    size_t k;

    for (; q < end && (next = piece_end(o, q, end)) <= sure; q = next)
        if (last == p || next == end || !(class_at(uni_before(next, p), next,
            &k) & U_S))
            last = next;
    return (size_t)(last - p);
}

/* Tokens that count with these flags can be found as grow does it: the longest
 * one's length; -1 they cannot. */
static ptrdiff_t
longest_added(const struct tokenizer *t, int flags)
{
    size_t most = 0;

    if (!added_none(&t->norm, flags))
        return -1;
    for (size_t i = 0; i < t->raw.n; i++) {
        const struct added *a = &t->raw.a[i];

        if (a->special && !(flags & TOK_SPECIAL))
            continue;
        if (a->single_word || a->lstrip || a->rstrip ||
            (t->sp && t->sp->lead == PREFIX_ALWAYS))
            return -1;
        most = a->n > most ? a->n : most;
    }
    return (ptrdiff_t)most;
}

/* Is there nothing in the steps that grow and piece_end do not do? */
static int
can_open(const struct tokenizer *t, int first)
{
    for (size_t i = 0; i < t->nnorm && !t->sp; i++)
        if (t->norm_op[i].kind != NORM_NFC)
            return 0;
    return t->cut && (t->sp || t->prefix == PREFIX_NONE || first < 0);
}

/* Bytes of raw up to the end of the last token that is surely there. */
static size_t
up_to_token(const struct open *o)
{
    const unsigned char *const begin = (const unsigned char *)o->raw->p;
    const unsigned char *const end = begin + o->raw->n;
    const unsigned char *p = begin, *done = begin;
    const struct added *a;

    while (o->longest > 0 && (p = added_first(&o->t->raw, p, end, o->flags,
        &a)) != NULL && (size_t)(end - p) > o->longest)
        done = p += a->n;
    return (size_t)(done - begin);
}

int
tok_encode_open(const struct tokenizer *t, struct tok_scratch *s,
    struct buf *text, int flags, const struct tok_more *more,
    struct tok_ids *out, struct err *e)
{
    const int first = flags & TOK_MIDDLE ? -1 : 1;
    const ptrdiff_t longest = longest_added(t, flags);
    struct open o = { .t = t, .more = more, .flags = flags, .raw = text };
    const unsigned char *p;
    size_t n;
    int lead, k = 1;

    if (longest < 0 || !can_open(t, first))
        return 0;
    o.longest = (size_t)longest;
    if ((n = up_to_token(&o)) > 0) {
        tok_encode(t, s, text->p, n, flags, out);
        memmove(text->p, text->p + n, text->n - n);
        text->n -= n;
        return 1;
    }
    buf_reserve(&o.gap, text->n + 1);
    grow(&o);
    p = (const unsigned char *)o.gap.p;
    lead = t->sp && o.gap.n > 0 && sp_leads(t->sp, p, o.gap.n, first);
    o.at = whole_pieces(&o);
    if (o.at > 0 && t->sp)
        sp_gap(t, s, p, o.at, lead, out);
    else if (o.at > 0)
        bpe_gap(t, s, p, o.at, out);
    else if (o.gap.n >= LEAST)
        k = merge_piece(&o, s, lead, out, e);
    else
        k = o.ended;
    shift(&o);
    if (o.ended && o.gap.n == 0 && o.token > 0) {
        tok_encode(t, s, text->p, o.token, flags | TOK_MIDDLE, out);
        memmove(text->p, text->p + o.token, text->n - o.token);
        text->n -= o.token;
    }
    buf_add(&o.gap, text->p, text->n);
    buf_release(text);
    *text = o.gap;
    return k;
}
