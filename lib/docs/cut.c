/* Cutting content into records; see cut.h. */
#include "docs/cut.h"
#include "docs/reader_parts.h"
#include "docs/warc.h"

#include "base/io.h"
#include "base/utf8.h"

#include <string.h>

#define TAG_MAX ((size_t)64 << 10) /* most bytes of an XML tag or title */

/* Is the record plain text, which may be cut anywhere? */
static int
is_plain(const struct reader *r)
{
    return !r->from->jsonl && !r->from->wiki && !r->from->warc;
}

int
cut_too_long(const struct reader *r, uint64_t at, struct err *e)
{
    return err_set(e, EX_INPUT,
        "%s: offset %llu: a document of more than %zu bytes; --max-doc allows "
        "longer ones, with 8 bytes of memory for each%s",
        r->from->name, (unsigned long long)at, r->limit->most,
        is_plain(r) ? "; --split-long cuts them" : "");
}

static int
take_bytes(struct reader *r, struct buf *rec, size_t n)
{
    if (rec)
        buf_add(rec, r->text + r->p, n);
    reader_pass(r, n);
    return 1;
}

int
cut_until(struct reader *r, int c, struct buf *rec, uint64_t at, struct err *e)
{
    const size_t most = r->from->documents ? SIZE_MAX : r->limit->most;
    int k;

    while ((k = reader_fill(r, e)) > 0) {
        const char *from = r->text + r->p;
        const size_t left = r->n - r->p;
        const char *end = c < 0 ? NULL : memchr(from, c, left);
        const size_t n = end ? (size_t)(end - from) : left;

        if (!rec || rec->n + n <= most) {
            take_bytes(r, rec, n);
        } else if (r->limit->split && is_plain(r)) {
            take_bytes(r, rec, most + 1 - rec->n);
            return 1;
        } else {
            return cut_too_long(r, at, e);
        }
        if (end)
            return take_bytes(r, NULL, 1);
    }
    return k;
}

/* ---- a document that is too long ---- */

/* Is *p a blank or the end of a line? */
static int
is_blank_at(const char *p)
{
    return *p == ' ' || *p == '\t' || *p == '\r' || *p == '\n';
}

/* Does text[k - 1] end a blank line? */
static int
ends_paragraph(const char *text, size_t k)
{
    if (text[--k] != '\n')
        return 0;
    while (k > 0 && text[k - 1] != '\n' && is_blank_at(text + k - 1))
        k--;
    return k > 0 && text[k - 1] == '\n';
}

/* Choose where to cut a text of more than `most` bytes; see struct doc_limit.
 */
static size_t
cut_at(const char *text, size_t most)
{
    size_t k, line = 0, word = 0;

    for (k = most; k > 0; k--) {
        if (ends_paragraph(text, k))
            return k;
        if (line == 0 && text[k - 1] == '\n')
            line = k;
        if (word == 0 && is_blank_at(text + k - 1))
            word = k;
    }
    if (line > 0 || word > 0)
        return line > 0 ? line : word;
    for (k = most; k > most - 4 && (text[k] & 0xc0) == 0x80; k--)
        ;
    return k > most - 4 ? k : most;
}

/* Cut a record that is too long; the text after the cut is read again. */
static void
shorten_record(struct reader *r, struct buf *rec)
{
    const size_t most = r->limit->most;
    struct buf back = { 0 };
    size_t k;

    if (rec->n <= most)
        return;
    k = cut_at(rec->p, most);
    buf_add(&back, rec->p + k, rec->n - k);
    buf_add(&back, r->text + r->p, r->n - r->p);
    buf_release(&r->back);
    r->back = back;
    r->text = back.p;
    r->p = 0;
    r->n = back.n;
    r->place.at -= rec->n - k;
    rec->n = k;
    rec->p[k] = '\0';
}

/* ---- a Wikipedia dump ---- */

static int
tag_is(const struct buf *tag, const char *name)
{
    const size_t n = strlen(name);

    return tag->n >= n && memcmp(tag->p, name, n) == 0 &&
        (tag->n == n || strchr(" \t\r\n/", tag->p[n]));
}

static int
cut_off(const struct reader *r, struct err *e)
{
    return err_set(e, EX_INPUT,
        "%s: offset %llu of its content: the dump ends before </mediawiki>",
        r->from->name, (unsigned long long)r->place.at);
}

/* Go to the dump's next page that is in name space 0 and no redirect.  Read its
 * last revision into *rec: title, newline, text, all still escaped.  Escaped
 * text has no '<', so it is enough to scan from tag to tag.  Returns as
 * cut_record. */
static int
next_page(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    struct buf ns = { 0 }, *into = NULL;
    int k, wanted = 0, text = 0;

    for (;;) {
        const uint64_t before = r->place.at;

        k = cut_until(r, '<', into, *at, e);
        if (k == 0 && !r->whole)
            k = cut_off(r, e);
        if (k <= 0)
            break;
        buf_clear(&r->tag);
        k = cut_until(r, '>', &r->tag, *at, e);
        if (k == 0)
            k = cut_off(r, e);
        if (k > 0 &&
            (r->tag.n > TAG_MAX || r->title.n > TAG_MAX || ns.n > TAG_MAX))
            k = err_set(e, EX_INPUT,
                "%s: offset %llu of its content: is not a dump of MediaWiki",
                r->from->name, (unsigned long long)before);
        if (k < 0)
            break;
        into = NULL;
        if (tag_is(&r->tag, "page")) {
            *at = before;
            wanted = 1;
            text = 0;
            buf_clear(rec);
            buf_clear(&r->title);
            buf_clear(&ns);
        } else if (tag_is(&r->tag, "title")) {
            into = &r->title;
            buf_clear(into);
        } else if (tag_is(&r->tag, "ns")) {
            into = &ns;
            buf_clear(into);
        } else if (tag_is(&r->tag, "redirect")) {
            wanted = 0;
        } else if (tag_is(&r->tag, "text")) {
            buf_clear(rec);
            buf_add(rec, r->title.p ? r->title.p : "", r->title.n);
            buf_addc(rec, '\n');
            text = 1;
            if (wanted && r->tag.p[r->tag.n - 1] != '/')
                into = rec;
        } else if (tag_is(&r->tag, "/mediawiki")) {
            r->whole = 1;
        } else if (tag_is(&r->tag, "/page") && wanted && text &&
            (ns.n == 0 || strcmp(ns.p, "0") == 0)) {
            k = 1;
            break;
        }
    }
    buf_release(&ns);
    return k;
}

/* ---- records ---- */

static int
is_blank_line(const char *p, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", p[n - 1]) && p[n - 1])
        n--;
    return n == 0;
}

/* Skip blank lines, then read the lines up to the next blank line. */
static int
next_paragraph(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    const size_t most = r->limit->most;

    for (;;) {
        const uint64_t from = r->place.at;
        const size_t whole = rec->n;
        int k;

        if (whole > 0)
            buf_addc(rec, '\n');
        else
            *at = from;
        k = cut_until(r, '\n', rec, *at, e);
        if (k < 0)
            return -1;
        if (is_blank_line(rec->p + whole, rec->n - whole) && rec->n <= most) {
            rec->n = whole;
            if (whole > 0 || (k == 0 && r->place.at == from))
                return whole > 0;
        } else if (k == 0 || rec->n > most) {
            return 1;
        }
    }
}

/* Read a line of a documents file (documents.h).  The last line, {"retort":
 * "end"}, is no record but the proof that the file was not cut off.  Returns
 * 1: a record; 0: the end; -1 and *e. */
static int
next_document(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    int k = cut_until(r, '\n', rec, *at, e);

    if (k < 0)
        return -1;
    if (k > 0 && !documents_end(rec->p, rec->n))
        return 1;
    if (k == 0)
        return err_set(e, EX_INPUT,
            "%s: offset %llu: the documents break off: clean ends them with a "
            "line {\"retort\":\"end\"}",
            r->from->name, (unsigned long long)r->place.at);
    buf_clear(rec);
    k = reader_fill(r, e);
    return k <= 0 ? k
                  : err_set(e, EX_INPUT,
                        "%s: offset %llu: the documents end here, but more "
                        "follows",
                        r->from->name, (unsigned long long)r->place.at);
}

/* Skip a byte order mark at the start of plain text, and set *at to the offset
 * behind it. */
static int
pass_mark(struct reader *r, uint64_t *at, struct err *e)
{
    if (*at > 0 || !is_plain(r))
        return 0;
    if (reader_fill(r, e) < 0)
        return -1;
    reader_pass(r, utf8_mark(r->text + r->p, r->n - r->p));
    *at = r->place.at;
    return 0;
}

int
cut_record(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    const int lines = r->from->jsonl || r->split == SPLIT_LINE;
    int k;

    if (pass_mark(r, at, e) < 0)
        return -1;
    if (r->from->documents)
        return next_document(r, rec, at, e);
    if (r->from->wiki)
        return next_page(r, rec, at, e);
    if (r->from->warc)
        return warc_next(r, rec, at, e);
    if (!r->from->jsonl && r->split == SPLIT_BLANK) {
        k = next_paragraph(r, rec, at, e);
    } else {
        k = cut_until(r, lines ? '\n' : -1, rec, *at, e);
        if (k == 0)
            k = r->place.at > *at;
        if (k > 0 && lines && rec->n > 0 && rec->n <= r->limit->most &&
            rec->p[rec->n - 1] == '\r')
            rec->p[--rec->n] = '\0';
    }
    if (k > 0)
        shorten_record(r, rec);
    return k;
}
