/* Repairs of text; see repair.h. */
#include "repair.h"

#include "text/unicode_nfc.h"

#include <stdlib.h>
#include <string.h>

#define KEEP ((size_t)1 << 20) /* bytes; larger buffers are freed */

struct text_repair {
    unsigned what;
    struct buf marks; /* the text after replace_mark */
    struct buf out;   /* the text in NFC */
};

struct text_repair *
repair_new(unsigned what)
{
    struct text_repair *m = xcalloc(1, sizeof *m);

    m->what = what;
    return m;
}

void
repair_trim(struct text_repair *m)
{
    if (m->marks.cap > KEEP)
        buf_release(&m->marks);
    if (m->out.cap > KEEP)
        buf_release(&m->out);
}

void
repair_free(struct text_repair *m)
{
    if (!m)
        return;
    buf_release(&m->marks);
    buf_release(&m->out);
    free(m);
}

/* Returns how many bytes to go on from p < end; *put: what replaces them ("":
 * remove them; NULL: keep them). */
static size_t
replace_mark(const struct text_repair *m, const unsigned char *p,
    const unsigned char *end, const char **put, struct repair_counts *c)
{
    static const char *const comma[] = { "\u0218", "\u0219", NULL, NULL,
        "\u021a", "\u021b" };
    const unsigned next = p + 1 < end ? p[1] : 0;
    size_t n = 1;

    *put = NULL;
    if (m->what & REPAIR_CONTROLS) {
        if ((*p < 0x20 && *p != '\n' && *p != '\t') || *p == 0x7f)
            *put = "";
        if (*p == 0xc2 && next >= 0x80 && next < 0xa0)
            n = 2, *put = "";
        if (*p == 0xef && end - p >= 3 && next == 0xbb && p[2] == 0xbf)
            n = 3, *put = "";
        c->controls += *put != NULL;
    }
    /* U+015E, 015F, 0162, 0163 are C5 9E, 9F, A2, A3. */
    if ((m->what & REPAIR_ROMANIAN) && *p == 0xc5 &&
        (next == 0x9e || next == 0x9f || next == 0xa2 || next == 0xa3)) {
        n = 2;
        *put = comma[next - 0x9e];
        c->romanian++;
    }
    return n;
}

static void
repair_marks(struct text_repair *m, const char **text, size_t *n,
    struct repair_counts *c)
{
    const unsigned char *p = (const unsigned char *)*text, *end = p + *n;
    const unsigned char *kept = p;
    const char *put;

    buf_clear(&m->marks);
    while (p < end) {
        const size_t k = replace_mark(m, p, end, &put, c);

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

static void
repair_nfc(struct text_repair *m, const char **text, size_t *n,
    struct repair_counts *count)
{
    const size_t same = nfc_quick(*text, *n);

    if (same == *n)
        return;
    buf_clear(&m->out);
    buf_add(&m->out, *text, same);
    nfc_append(*text + same, *n - same, &m->out);
    if (m->out.n == *n && memcmp(m->out.p, *text, *n) == 0)
        return;
    *text = m->out.p;
    *n = m->out.n;
    count->nfc++;
}

void
repair_text(struct text_repair *m, const char **text, size_t *n,
    struct repair_counts *c)
{
    if (m->what & (REPAIR_CONTROLS | REPAIR_ROMANIAN))
        repair_marks(m, text, n, c);
    if (m->what & REPAIR_NFC)
        repair_nfc(m, text, n, c);
}
