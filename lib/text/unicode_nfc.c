/*
 * NFC; see unicode_nfc.h.  A character without a flag neither changes nor
 * joins with anything before it, so text is cut in front of such characters
 * and only stretches that hold a flagged one are decomposed, ordered and
 * composed (Unicode Standard Annex 15, and section 3.11).
 */
#include "text/unicode_nfc.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

enum {
    L0 = 0x1100,
    V0 = 0x1161,
    T0 = 0x11a7,
    S0 = 0xac00, /* Hangul */
    LN = 19,
    VN = 21,
    TN = 28,
    SN = LN * VN * TN
};

/* Characters, each with its combining class << 24. */
struct char_span {
    uint32_t *v;
    size_t n, cap;
};

static inline uint32_t
char_of(uint32_t mark)
{
    return mark & 0xffffff;
}

static inline unsigned
class_in(uint32_t mark)
{
    return mark >> 24;
}

static inline int
flagged(uint32_t c)
{
    return c >= 0x300 && c < NFC_LIMIT &&
        (nfc_bits[nfc_index[c >> 6]] >> (c & 63) & 1);
}

static unsigned
class_of(uint32_t c)
{
    size_t lo = 0, hi = NFC_CLASSES;

    if (!flagged(c))
        return 0;
    while (lo < hi) {
        const size_t m = lo + (hi - lo) / 2;

        if (nfc_class[m].hi < c)
            lo = m + 1;
        else
            hi = m;
    }
    return lo < NFC_CLASSES && nfc_class[lo].lo <= c ? nfc_class[lo].k : 0;
}

/* What c stands for, or NULL. */
static const struct nfc_decomp *
decomp_of(uint32_t c)
{
    size_t lo = 0, hi = NFC_DECOMPS;

    while (lo < hi) {
        const size_t m = lo + (hi - lo) / 2;

        if (nfc_decomp[m].c < c)
            lo = m + 1;
        else
            hi = m;
    }
    return lo < NFC_DECOMPS && nfc_decomp[lo].c == c ? &nfc_decomp[lo] : NULL;
}

/* The character that a and b compose to, or 0. */
static uint32_t
compose(uint32_t a, uint32_t b)
{
    size_t lo = 0, hi = NFC_PAIRS;

    if (a - L0 < LN && b - V0 < VN)
        return S0 + ((a - L0) * VN + (b - V0)) * TN;
    if (a - S0 < SN && (a - S0) % TN == 0 && b - T0 - 1 < TN - 1)
        return a + (b - T0);
    while (lo < hi) {
        const size_t m = lo + (hi - lo) / 2;
        const struct nfc_decomp *d = &nfc_decomp[nfc_pair[m]];

        if (d->a == a && d->b == b)
            return d->c;
        if (d->a < a || (d->a == a && d->b < b))
            lo = m + 1;
        else
            hi = m;
    }
    return 0;
}

static void
span_add(struct char_span *s, uint32_t c)
{
    s->v = xgrow(s->v, s->n, &s->cap, sizeof *s->v);
    s->v[s->n++] = class_of(c) << 24 | c;
}

/* Append c in its parts; a decomposition is at most four deep. */
static void
decompose(struct char_span *s, uint32_t c)
{
    const struct nfc_decomp *d;

    if (c - S0 < SN) {
        const uint32_t i = c - S0;

        span_add(s, L0 + i / (VN * TN));
        span_add(s, V0 + i % (VN * TN) / TN);
        if (i % TN)
            span_add(s, T0 + i % TN);
    } else if (c >= 0xc0 && (d = decomp_of(c)) != NULL) {
        decompose(s, d->a);
        if (d->b)
            decompose(s, d->b);
    } else {
        span_add(s, c);
    }
}

/* Sort marks by class, equals as they stand: by counting where many. */
static void
order(uint32_t *v, size_t n)
{
    size_t start[256] = { 0 }, sum = 0;
    uint32_t *copy;

    if (n < 32) {
        for (size_t i = 1; i < n; i++) {
            const uint32_t m = v[i];
            size_t k = i;

            for (; k > 0 && class_in(v[k - 1]) > class_in(m); k--)
                v[k] = v[k - 1];
            v[k] = m;
        }
        return;
    }
    copy = xreallocarray(NULL, n, sizeof *copy);
    memcpy(copy, v, n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        start[class_in(copy[i])]++;
    for (size_t k = 0; k < 256; k++) {
        const size_t m = start[k];

        start[k] = sum;
        sum += m;
    }
    for (size_t i = 0; i < n; i++)
        v[start[class_in(copy[i])]++] = copy[i];
    free(copy);
}

/* Compose s in place. */
static void
span_compose(struct char_span *s)
{
    size_t n = 0, starter = SIZE_MAX;
    unsigned last = 0; /* class of what was kept after the starter */

    for (size_t i = 0; i < s->n; i++) {
        const uint32_t m = s->v[i];
        uint32_t c = 0;

        if (starter != SIZE_MAX && (last < class_in(m) || n == starter + 1))
            c = compose(char_of(s->v[starter]), char_of(m));
        if (c) {
            s->v[starter] = c; /* a starter: class 0 */
            continue;
        }
        if (class_in(m) == 0)
            starter = n;
        last = class_in(m);
        s->v[n++] = m;
    }
    s->n = n;
}

static void
span_put(struct char_span *s, const char *text, size_t n, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)text, *const end = p + n;
    size_t k;

    s->n = 0;
    for (; p < end; p += k)
        decompose(s, utf8_next(p, end, &k));
    for (size_t i = 0, j; i < s->n; i = j) {
        for (j = i; j < s->n && class_in(s->v[j]); j++)
            ;
        order(s->v + i, j - i);
        j += j == i;
    }
    span_compose(s);
    for (size_t i = 0; i < s->n; i++)
        utf8_put(out, char_of(s->v[i]));
}

/* The first flagged character from p on, or end; *safe is where the last
 * character before it begins. */
static const unsigned char *
next_flagged(const unsigned char *p, const unsigned char *end,
    const unsigned char **safe)
{
    size_t k;

    *safe = p;
    while (p < end) {
        uint64_t w;
        uint32_t c;

        if (end - p >= 8 &&
            (memcpy(&w, p, 8), !(w & UINT64_C(0x8080808080808080)))) {
            p += 8;
            *safe = p - 1;
            continue;
        }
        c = utf8_next(p, end, &k);
        if (c != UTF8_BAD && flagged(c))
            return p;
        *safe = p;
        p += k;
    }
    return end;
}

size_t
nfc_quick(const char *text, size_t n)
{
    const unsigned char *const p = (const unsigned char *)text, *safe;

    if (next_flagged(p, p + n, &safe) == p + n)
        return n;
    return (size_t)(safe - p);
}

void
nfc_append(const char *text, size_t n, struct buf *out)
{
    const unsigned char *p = (const unsigned char *)text, *const end = p + n;
    struct char_span s = { 0 };

    while (p < end) {
        const unsigned char *safe, *q = next_flagged(p, end, &safe);
        size_t k;

        if (q == end)
            safe = end;
        else if (utf8_next(safe, end, &k) == UTF8_BAD)
            safe = q;
        buf_add(out, p, (size_t)(safe - p));
        p = safe;
        while (q < end) {
            const uint32_t c = utf8_next(q, end, &k);

            if (c == UTF8_BAD || !flagged(c))
                break;
            q += k;
        }
        span_put(&s, (const char *)p, (size_t)(q - p), out);
        p = q;
    }
    free(s.v);
}
