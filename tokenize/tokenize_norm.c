/* Repairs of text; see tokenize_norm.h. */
#include "tokenize_norm.h"

#include "base/err.h"
#include "data/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/unorm2.h>
#include <unicode/ustring.h>

#define STRETCH ((size_t)64 << 10)   /* bytes that NFC looks at in one */
#define KEEP ((size_t)1 << 20)       /* bytes of memory that are kept */

struct norm {
    unsigned what;
    const UNormalizer2 *nfc;
    struct buf marks;           /* text after the marks below */
    struct buf out, from, to;   /* NFC; UTF-16 before and after it */
};

struct norm *
norm_new(unsigned what)
{
    struct norm *m = xcalloc(1, sizeof *m);
    UErrorCode c = U_ZERO_ERROR;

    m->what = what;
    if (what & NORM_NFC)
        m->nfc = unorm2_getNFCInstance(&c);
    if (U_FAILURE(c))
        die(EX_SYS, "--nfc: ICU: %s", u_errorName(c));
    return m;
}

void
norm_trim(struct norm *m)
{
    struct buf *const b[] = { &m->marks, &m->out, &m->from, &m->to };

    for (size_t i = 0; i < sizeof b / sizeof *b; i++)
        if (b[i]->cap > KEEP)
            buf_release(b[i]);
}

void
norm_free(struct norm *m)
{
    if (!m)
        return;
    buf_release(&m->marks);
    buf_release(&m->out);
    buf_release(&m->from);
    buf_release(&m->to);
    free(m);
}

/* What is done with the character at p < end: its length, and in *put what
 * comes in its place ("" for nothing), NULL to leave it. */
static size_t
mark(const struct norm *m, const unsigned char *p, const unsigned char *end,
    const char **put, struct norm_counts *c)
{
    static const char *const comma[] = { "\u0218", "\u0219", NULL, NULL,
        "\u021a", "\u021b" };
    const unsigned next = p + 1 < end ? p[1] : 0;
    size_t n = 1;

    *put = NULL;
    if (m->what & NORM_CONTROLS) {
        if ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)
            *put = "";
        if (*p == 0xc2 && next >= 0x80 && next < 0xa0)
            n = 2, *put = "";
        if (*p == 0xef && end - p >= 3 && next == 0xbb && p[2] == 0xbf)
            n = 3, *put = "";
        c->controls += *put != NULL;
    }
    /* U+015E, 015F, 0162, 0163 are C5 9E, 9F, A2, A3. */
    if ((m->what & NORM_ROMANIAN) && *p == 0xc5 &&
        (next == 0x9e || next == 0x9f || next == 0xa2 || next == 0xa3)) {
        n = 2;
        *put = comma[next - 0x9e];
        c->romanian++;
    }
    return n;
}

static void
marks(struct norm *m, const char **text, size_t *n, struct norm_counts *c)
{
    const unsigned char *p = (const unsigned char *)*text, *end = p + *n;
    const unsigned char *kept = p;
    const char *put;

    buf_clear(&m->marks);
    while (p < end) {
        const size_t k = mark(m, p, end, &put, c);

        if (put) {
            buf_add(&m->marks, kept, (size_t)(p - kept));
            buf_adds(&m->marks, put);
            kept = p + k;
        }
        p += k;
    }
    if (kept == (const unsigned char *)*text)
        return;
    buf_add(&m->marks, kept, (size_t)(end - kept));
    *text = m->marks.p;
    *n = m->marks.n;
}

/* All characters below U+0300 are in NFC, and no two of them compose. */
static int
is_plain(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)text[i] >= 0xcc)
            return 0;
    return 1;
}

static void
check(UErrorCode c)
{
    if (U_FAILURE(c))
        die(EX_SYS, "--nfc: ICU: %s", u_errorName(c));
}

/* 1 and the NFC of text[n], as UTF-16 in m->to; 0 it is that. */
static int
nfc_changes(struct norm *m, const char *text, size_t n)
{
    UErrorCode c = U_ZERO_ERROR;
    UChar *from, *to;
    int32_t nfrom, nto, good;

    if (is_plain(text, n))
        return 0;
    /* ICU counts in int32. */
    if (n >= INT32_MAX / 9)
        die(EX_USAGE, "--nfc: %zu MiB of marks; cut them with --split",
            n >> 20);
    /* UTF-16 has no more units than UTF-8 has bytes; NFC of a text has at
     * most three times its units. */
    buf_clear(&m->from);
    buf_reserve(&m->from, (n + 1) * sizeof *from);
    from = (UChar *)(void *)m->from.p;
    u_strFromUTF8(from, (int32_t)n + 1, &nfrom, text, (int32_t)n, &c);
    check(c);
    good = unorm2_spanQuickCheckYes(m->nfc, from, nfrom, &c);
    check(c);
    if (good == nfrom)
        return 0;
    buf_clear(&m->to);
    buf_reserve(&m->to, (3 * (size_t)nfrom + 1) * sizeof *to);
    to = (UChar *)(void *)m->to.p;
    nto = unorm2_normalize(m->nfc, from, nfrom, to, 3 * nfrom + 1, &c);
    check(c);
    if (nto == nfrom && u_memcmp(from, to, nto) == 0)
        return 0;
    m->to.n = (size_t)nto;
    return 1;
}

/* Append what nfc_changes has found. */
static void
add_changed(struct norm *m)
{
    const size_t most = 3 * m->to.n + 1;
    UErrorCode c = U_ZERO_ERROR;
    int32_t n;

    buf_reserve(&m->out, most);
    u_strToUTF8(m->out.p + m->out.n, (int32_t)most, &n,
        (const UChar *)(void *)m->to.p, (int32_t)m->to.n, &c);
    check(c);
    m->out.n += (size_t)n;
}

/* Bytes of text[n] up to a character that nothing before it changes. */
static size_t
stretch(const struct norm *m, const char *text, size_t n)
{
    const unsigned char *const p = (const unsigned char *)text;
    size_t i = STRETCH, k;

    while (i < n && (p[i] & 0xc0) == 0x80)
        i++;
    for (; i < n; i += k)
        if (unorm2_hasBoundaryBefore(m->nfc, (UChar32)uni_next(p + i, p + n,
            &k)))
            return i;
    return n;
}

static void
nfc(struct norm *m, const char **text, size_t *n, struct norm_counts *count)
{
    size_t kept = 0, k;         /* out holds what comes of *text before it */

    buf_clear(&m->out);
    for (size_t i = 0; i < *n; i += k) {
        k = stretch(m, *text + i, *n - i);
        if (nfc_changes(m, *text + i, k)) {
            buf_add(&m->out, *text + kept, i - kept);
            add_changed(m);
            kept = i + k;
        }
    }
    if (kept == 0)
        return;
    buf_add(&m->out, *text + kept, *n - kept);
    *text = m->out.p;
    *n = m->out.n;
    count->nfc++;
}

void
norm_text(struct norm *m, const char **text, size_t *n,
    struct norm_counts *c)
{
    if (m->what & (NORM_CONTROLS | NORM_ROMANIAN))
        marks(m, text, n, c);
    if (m->what & NORM_NFC)
        nfc(m, text, n, c);
}
