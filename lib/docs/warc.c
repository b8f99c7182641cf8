/* Texts of WET files; see warc.h. */
#include "docs/warc.h"
#include "docs/cut.h"
#include "docs/reader_parts.h"

#include "base/number.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define HEADERS_MAX ((size_t)64 << 10) /* bytes of a record's headers */

int
warc_begins(const char *p, size_t n)
{
    static const char first[] = "WARC/";
    const char *end = memchr(p, '\n', n < 16 ? n : 16), *colon;
    size_t left;

    if (n < sizeof first || memcmp(p, first, sizeof first - 1) != 0 || !end)
        return 0;
    left = n - (size_t)(end + 1 - p);
    colon = memchr(end + 1, ':', left < 64 ? left : 64);
    return colon && !memchr(end + 1, '\n', (size_t)(colon - end - 1));
}

/* Headers of a record; buffers keep their memory from record to record. */
struct headers {
    struct buf type, uri, length;
};

static int
damaged(const struct reader *r, uint64_t at, const char *what, struct err *e)
{
    return err_set(e, EX_INPUT, "%s: offset %llu: %s", r->from->name,
        (unsigned long long)at, what);
}

/* If the line "name: value" has this name, set *value. */
static void
take_header(const struct buf *line, const char *name, struct buf *value)
{
    const size_t n = strlen(name);
    const char *p = line->p + n + 1, *end = line->p + line->n;

    if (line->n <= n || strncasecmp(line->p, name, n) != 0 || p[-1] != ':')
        return;
    while (p < end && (*p == ' ' || *p == '\t'))
        p++;
    buf_clear(value);
    buf_add(value, p, (size_t)(end - p));
}

/* Read the next line of headers into r->tag, without CR and LF.  1; 0: the
 * member has ended; -1 and *e. */
static int
header_line(struct reader *r, struct err *e)
{
    const uint64_t at = r->place.at;
    int k;

    buf_reserve(&r->tag, 1);
    buf_clear(&r->tag);
    k = cut_until(r, '\n', &r->tag, at, e);
    if (k > 0 && r->tag.n > 0 && r->tag.p[r->tag.n - 1] == '\r')
        r->tag.p[--r->tag.n] = '\0';
    return k == 0 && r->place.at > at
        ? damaged(r, at, "the record's headers break off", e)
        : k;
}

/* Read the headers of the next record, which begins at *at.  1; 0: there is no
 * record; -1 and *e. */
static int
read_headers(struct reader *r, struct headers *h, uint64_t *at, struct err *e)
{
    int k;

    do {
        *at = r->place.at;
        k = header_line(r, e);
    } while (k > 0 && r->tag.n == 0);
    if (k <= 0)
        return k;
    if (strncmp(r->tag.p, "WARC/", 5) != 0)
        return damaged(r, *at, "no record of WARC begins here", e);
    buf_clear(&h->type);
    buf_clear(&h->uri);
    buf_clear(&h->length);
    while ((k = header_line(r, e)) > 0 && r->tag.n > 0) {
        if (r->place.at - *at > HEADERS_MAX)
            return damaged(r, *at, "the record's headers are too long", e);
        take_header(&r->tag, "WARC-Type", &h->type);
        take_header(&r->tag, "WARC-Target-URI", &h->uri);
        take_header(&r->tag, "Content-Length", &h->length);
    }
    return k == 0 ? damaged(r, *at, "the record's headers break off", e) : k;
}

/* Read n bytes of content, and append them to *rec unless rec is NULL. */
static int
read_content(struct reader *r, size_t n, struct buf *rec, struct err *e)
{
    int k;

    while (n > 0) {
        size_t some;

        if ((k = reader_fill(r, e)) < 0)
            return -1;
        if (k == 0)
            return damaged(r, r->place.at, "the record breaks off", e);
        some = r->n - r->p < n ? r->n - r->p : n;
        if (rec)
            buf_add(rec, r->text + r->p, some);
        reader_pass(r, some);
        n -= some;
    }
    return 0;
}

static int
is_type(const struct headers *h, const char *type)
{
    return h->type.n > 0 && strcasecmp(h->type.p, type) == 0;
}

/* Read the content of the record that has headers *h and begins at `from`.
 * 1: the content is a text; 0: it was skipped; -1 and *e. */
static int
read_record(struct reader *r, const struct headers *h, uint64_t from,
    struct buf *rec, uint64_t *at, struct err *e)
{
    const int text = is_type(h, "conversion");
    size_t n;

    if (h->length.n == 0 || !isdigit((unsigned char)h->length.p[0]) ||
        number_size(h->length.p, 0, 1e15, &n) < 0)
        return damaged(r, from, "the record has no valid Content-Length", e);
    if (!text && !is_type(h, "warcinfo") && !is_type(h, "metadata"))
        return damaged(r, from,
            "is WARC of pages as they were fetched, not text: take the crawl's "
            "WET file, or turn the pages into text",
            e);
    if (!text)
        return read_content(r, n, NULL, e);
    *at = r->place.at;
    if (n > r->limit->most)
        return cut_too_long(r, *at, e);
    buf_add(rec, h->uri.n > 0 ? h->uri.p : "", h->uri.n);
    buf_addc(rec, '\n');
    return read_content(r, n, rec, e) < 0 ? -1 : 1;
}

int
warc_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    const int first = r->place.at == 0;
    struct headers h = { 0 };
    uint64_t from;
    int k, found = 0;

    while (found == 0 && (k = read_headers(r, &h, &from, e)) != 0)
        found = k < 0 ? -1 : read_record(r, &h, from, rec, at, e);
    buf_release(&h.type);
    buf_release(&h.uri);
    buf_release(&h.length);
    return found == 0 && first
        ? damaged(r, 0, "is WARC without texts: a crawl's WET file has them", e)
        : found;
}
