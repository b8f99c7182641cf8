/*
 * NFC; see unicode_nfc.h.  A character without a flag neither changes nor
 * composes with characters before it.  So text is cut before such characters,
 * and only pieces with a flagged character are decomposed, ordered and composed
 * (Unicode Standard Annex 15, and section 3.11).  ICU does not compose the
 * pieces, as its insertion sort of marks takes quadratic time.
 */
#include "text/unicode_nfc.h"
#include "text/unicode.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unicode/putil.h>
#include <unicode/unorm2.h>
#include <unicode/uset.h>

#define FLAGS_END 0x30000 /* flagged characters are in U+0300..U+2FFFF */

/* Filled by nfc_start, which `once` orders before every use. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const UNormalizer2 *nfc;       /* NFC restricted to Unicode 9.0 */
static uint64_t flag[FLAGS_END / 64]; /* bitmap of flagged characters */

static USet *
set_of(const char *pattern, UErrorCode *bad)
{
    UChar u[64];

    u_charsToUChars(pattern, u, (int32_t)strlen(pattern));
    return uset_openPattern(u, (int32_t)strlen(pattern), bad);
}

/* Fill nfc and flag, in about 1 ms.  ICU has its tables compiled in, so this
 * fails only if memory is exhausted. */
static void
nfc_start(void)
{
    UErrorCode bad = U_ZERO_ERROR;
    USet *const old = set_of("[:age=9.0:]", &bad);
    USet *const may_change =
        set_of("[[:nfcqc=no:][:nfcqc=maybe:][:^ccc=0:]]", &bad);

    if (U_SUCCESS(bad)) {
        uset_freeze(old);
        nfc = unorm2_openFiltered(unorm2_getNFCInstance(&bad), old, &bad);
    }
    if (U_FAILURE(bad))
        mem_exhausted("ICU: %s", u_errorName(bad));
    uset_retainAll(may_change, old);
    for (int32_t i = 0; i < uset_getItemCount(may_change); i++) {
        UChar32 c, last;

        uset_getItem(may_change, i, &c, &last, NULL, 0, &bad);
        for (; c <= last; c++)
            flag[c >> 6] |= UINT64_C(1) << (c & 63);
    }
    uset_close(may_change);
}

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
    return c >= 0x300 && c < FLAGS_END && (flag[c >> 6] >> (c & 63) & 1);
}

static void
span_add(struct char_span *s, uint32_t c)
{
    s->v = xgrow(s->v, s->n, &s->cap, sizeof *s->v);
    s->v[s->n++] =
        (uint32_t)unorm2_getCombiningClass(nfc, (UChar32)c) << 24 | c;
}

/* Append the canonical decomposition of c, at most four characters. */
static void
decompose(struct char_span *s, uint32_t c)
{
    UErrorCode bad = U_ZERO_ERROR;
    UChar part[8];
    const int32_t n = unorm2_getDecomposition(nfc, (UChar32)c, part, 8, &bad);

    if (n < 0)
        span_add(s, c);
    for (int32_t i = 0; i < n;) {
        UChar32 x;

        U16_NEXT(part, i, n, x);
        span_add(s, (uint32_t)x);
    }
}

/* Sort marks stably by combining class; if there are many, by a counting
 * sort. */
static void
order_marks(uint32_t *v, size_t n)
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
    unsigned last = 0; /* class of the last mark kept after the starter */

    for (size_t i = 0; i < s->n; i++) {
        const uint32_t m = s->v[i];
        UChar32 c = -1;

        if (starter != SIZE_MAX && (last < class_in(m) || n == starter + 1))
            c = unorm2_composePair(nfc, (UChar32)char_of(s->v[starter]),
                (UChar32)char_of(m));
        if (c >= 0) {
            s->v[starter] = (uint32_t)c; /* a starter: class 0 */
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
        order_marks(s->v + i, j - i);
        j += j == i;
    }
    span_compose(s);
    for (size_t i = 0; i < s->n; i++)
        utf8_put(out, char_of(s->v[i]));
}

/* Find the first flagged character from p on; `end`: there is none.  *safe: the
 * start of the character before the flagged one, or p if there is none. */
static const unsigned char *
next_flagged(const unsigned char *p, const unsigned char *end,
    const unsigned char **safe)
{
    size_t k;

    pthread_once(&once, nfc_start);
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
