/*
 * Normalizers, and the changes that a pre-tokenizer makes before it cuts.  Each
 * step writes its result to another buffer; text that is in NFC already is not
 * copied.
 */
#include "tok/norm.h"
#include "tok/bpe.h"
#include "tok/sp.h"
#include "tok/tokenizer.h"
#include "text/unicode_nfc.h"

#include <string.h>

/* Append p[n] with each `from` replaced by `to`. */
static void
replace_all(const char *p, size_t n, const char *from, size_t nfrom,
    const char *to, size_t nto, struct buf *out)
{
    const char *const end = p + n;

    while (p < end) {
        const char *q = memchr(p, from[0], (size_t)(end - p));

        while (q && nfrom > 1 &&
            ((size_t)(end - q) < nfrom || memcmp(q, from, nfrom) != 0)) {
            q++;
            q = q < end ? memchr(q, from[0], (size_t)(end - q)) : NULL;
        }
        if (!q)
            break;
        buf_add(out, p, (size_t)(q - p));
        buf_add(out, to, nto);
        p = q + nfrom;
    }
    buf_add(out, p, (size_t)(end - p));
}

void
norm_run(const struct tokenizer *t, struct buf b[2], const unsigned char **p,
    size_t *n)
{
    for (size_t i = 0; i < t->nnorm; i++) {
        const struct norm_op *o = &t->norm_op[i];
        struct buf *out = &b[(const char *)*p == b[0].p];
        const char *s = (const char *)*p;
        size_t same = 0;

        if (o->kind == NORM_NFC && (same = nfc_quick(s, *n)) == *n)
            continue;
        buf_clear(out);
        buf_reserve(out, *n + o->nto + 1);
        if (o->kind == NORM_NFC) {
            buf_add(out, s, same);
            nfc_append(s + same, *n - same, out);
        } else if (o->kind == NORM_PREPEND) {
            if (*n > 0)
                buf_add(out, o->to, o->nto);
            buf_add(out, s, *n);
        } else {
            replace_all(s, *n, o->from, o->nfrom, o->to, o->nto, out);
        }
        *p = (const unsigned char *)out->p;
        *n = out->n;
    }
}

void
pre_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, int first, struct tok_ids *out)
{
    const size_t k = strlen(t->gap);
    struct buf *b = &s->pre;
    int put =
        t->prefix == PREFIX_ALWAYS || (t->prefix == PREFIX_FIRST && first);

    if (put &&
        ((n >= k && memcmp(p, t->gap, k) == 0) ||
            (t->put_gap && n > 0 && *p == ' ')))
        put = 0;
    if (put || t->put_gap) {
        buf_clear(b);
        buf_reserve(b, n + k + 1);
        if (put)
            buf_add(b, t->gap, k);
        if (t->put_gap)
            replace_all((const char *)p, n, " ", 1, t->gap, k, b);
        else
            buf_add(b, p, n);
        p = (const unsigned char *)b->p;
        n = b->n;
    }
    if (t->sp)
        sp_gap(t, s, p, n, 0, out);
    else
        bpe_gap(t, s, p, n, out);
}
