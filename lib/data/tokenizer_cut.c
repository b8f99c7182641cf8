/*
 * Where a text may be cut so that the ids of both sides, one after the other,
 * are those of the whole.
 *
 * Between bytes: every pattern ends a piece where a letter, number or other
 * character is followed by a character of another kind, with exceptions that
 * ends_piece leaves out, and none looks behind.  Between characters: where a
 * word is merged by itself (tokenizer_sp.c).  Neither may lie in an added
 * token, or beside one, whose flags look at what is around it.
 */
#include "data/tokenizer_impl.h"
#include "data/unicode.h"
#include "data/unicode_nfc.h"

#include <string.h>

static void
forbid(uint64_t *pair, unsigned a, unsigned b)
{
    const unsigned i = a << 8 | b;

    pair[i >> 6] |= UINT64_C(1) << (i & 63);
}

static void
forbid_token(uint64_t *pair, const unsigned char *p, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++)
        forbid(pair, p[i], p[i + 1]);
    for (unsigned b = 0; b < 256 && n > 0; b++) {
        forbid(pair, p[n - 1], b);
        forbid(pair, b, p[0]);
    }
}

/* The token as it stands in the text: with spaces for U+2581, where they
 * become that before it is looked for. */
static void
forbid_spaced(uint64_t *pair, const struct added *a)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < a->n; i++)
        if (a->n - i >= 3 && memcmp(a->s + i, "\xe2\x96\x81", 3) == 0) {
            buf_addc(&b, ' ');
            i += 2;
        } else {
            buf_addc(&b, (unsigned char)a->s[i]);
        }
    forbid_token(pair, (unsigned char *)b.p, b.n);
    buf_release(&b);
}

static void
forbid_set(struct tokenizer *t, const struct added_set *set)
{
    for (size_t i = 0; i < set->n; i++)
        for (int special = set->a[i].special; special < 2; special++) {
            const struct added *a = &set->a[i];

            forbid_token(t->no_cut[special], (unsigned char *)
                (uintptr_t)a->s, a->n);
            if (a->normalized)
                forbid_spaced(t->no_cut[special], a);
        }
}

void
cut_index(struct tokenizer *t)
{
    forbid_set(t, &t->raw);
    forbid_set(t, &t->norm);
    t->cut = t->sp ? t->sp->spaces && (t->sp->split == SP_MARK || t->sp->cut) :
        t->split != SPLIT_NONE;
    for (size_t i = 0; i < t->nnorm; i++) {
        t->nfc |= t->norm_op[i].kind == NORM_NFC;
        if (!t->sp && t->norm_op[i].kind == NORM_REPLACE)
            t->cut = 0;
    }
}

/* Does a piece end between a and b, of classes x and y, whatever is around
 * them?  White space on the left may go with what follows, an apostrophe with
 * letters; where lines belong to what is before them, only letters and numbers
 * end there. */
static int
ends_piece(enum split split, unsigned x, uint32_t b, unsigned y)
{
    const int lines = split != SPLIT_GPT2 && split != SPLIT_GPT2_DIGITS;

    if (x & U_S)
        return 0;
    if (y & U_S)
        return !lines || (b != '\r' && b != '\n') || (x & (U_L | U_N));
    if ((y & U_M) || ((x & U_M) && (split_by_case(split) ||
        split == SPLIT_QWEN35)) || (split == SPLIT_O200K && b == '\''))
        return 0;
    if (x & U_L)
        return !(y & U_L);
    if (x & (U_N | U_DIGIT))
        return !(y & (U_N | U_DIGIT));
    return (y & U_N) != 0;
}

/* Control characters, which a repair of the text may take away. */
static int
is_control(uint32_t c)
{
    return c < 0x20 ? c != '\n' && c != '\t' :
        (c >= 0x7f && c < 0xa0) || c == 0xfeff;
}

/* Is NFC no matter at q, with the character p before it and len bytes after
 * it? */
static int
is_settled(const unsigned char *p, const unsigned char *q, size_t len,
    const unsigned char *end, int raw)
{
    uint32_t after;
    size_t k;

    if (*q == ' ' && q + 1 < end && q[1] < 0x80 && !is_control(q[1]))
        return 1;
    if (q + len >= end)
        return 0;
    after = uni_next(q + len, end, &k);
    return after != UTF8_BAD && !(raw && is_control(after)) &&
        nfc_quick((const char *)p, (size_t)(q - p) + len + k) ==
        (size_t)(q - p) + len + k;
}

static int
is_cut(const struct tokenizer *t, const uint64_t *no, const unsigned char *p,
    const unsigned char *q, const unsigned char *end, int raw)
{
    const unsigned pair = (unsigned)q[-1] << 8 | q[0];
    uint32_t a, b;
    unsigned x;
    size_t k, len;

    if ((no[pair >> 6] >> (pair & 63) & 1) || (*q & 0xc0) == 0x80)
        return 0;
    p = uni_before(q, p);
    a = uni_next(p, q, &k);
    b = uni_next(q, end, &len);
    if (a == UTF8_BAD || b == UTF8_BAD || p + k != q)
        return 0;
    x = uni_class(a);
    if (raw && (is_control(a) || is_control(b)))
        return 0;
    if (t->sp ? b != ' ' || (x & U_S) || !sp_border(t->sp, a) :
        !ends_piece(t->split, x, b, uni_class(b)))
        return 0;
    return (!raw && !t->nfc) || is_settled(p, q, len, end, raw);
}

size_t
tok_cut(const struct tokenizer *t, const char *text, size_t n, int flags)
{
    const unsigned char *const p = (const unsigned char *)text;
    const uint64_t *const no = t->no_cut[(flags & TOK_SPECIAL) != 0];

    for (size_t i = n; t->cut && i-- > 1; )
        if (is_cut(t, no, p, p + i, p + n, (flags & TOK_RAW) != 0))
            return i;
    return 0;
}
