/*
 * Content cut into records, and long records into sections; see
 * tokenize_read.h.
 */
#include "tokenize_read_impl.h"
#include "tokenize_record.h"

#include "data/unicode.h"

#include <string.h>

#define TAG_MAX ((size_t)64 << 10)      /* bytes of an XML tag or title */
#define PART ((size_t)256 << 10)        /* bytes read before part is asked */
#define STOPPED 2                       /* of until_most: at the limit */

static int
too_large(const struct reader *r, uint64_t at, struct err *e)
{
    return err_set(e, EX_INPUT, "%s: offset %llu: a document of more than %zu "
        "MiB%s", r->from->name, (unsigned long long)at, DOC_MAX >> 20,
        r->split == SPLIT_FILE && !r->from->jsonl && !r->from->wiki ?
        "; cut it with --split" : "");
}

static int
take(struct reader *r, struct buf *rec, size_t n, uint64_t at, struct err *e)
{
    if (rec && (rec->n + n > DOC_MAX ||
        (r->middle && r->place.at + n - r->begin > DOC_MAX)))
        return too_large(r, at, e);
    if (rec)
        buf_add(rec, r->block + r->p, n);
    read_pass(r, n);
    return 0;
}

/* Append what stands before the next byte c, which is passed over, or before
 * the end where c is -1; 1 there was one, 0 the end came first, STOPPED when
 * rec holds `most` bytes, -1.  rec may be NULL. */
static int
until_most(struct reader *r, int c, struct buf *rec, size_t most, uint64_t at,
    struct err *e)
{
    int k;

    while ((k = read_fill(r, e)) > 0) {
        const char *from = r->block + r->p;
        const char *end;

        if (rec && rec->n >= most)
            return STOPPED;
        end = c < 0 ? NULL : memchr(from, c, r->n - r->p);
        if (take(r, rec, end ? (size_t)(end - from) : r->n - r->p, at, e) < 0)
            return -1;
        if (end)
            return take(r, NULL, 1, at, e) < 0 ? -1 : 1;
    }
    return k;
}

static int
until(struct reader *r, int c, struct buf *rec, uint64_t at, struct err *e)
{
    return until_most(r, c, rec, SIZE_MAX, at, e);
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
    return err_set(e, EX_INPUT, "%s: offset %llu of its content: the dump "
        "ends before </mediawiki>", r->from->name,
        (unsigned long long)r->place.at);
}

/* The title, an end of line and the text, still escaped, of the next page of
 * the main name space that is no redirect.  Of several revisions it is the
 * last.  Escaped text holds no '<', so tags can be found one by one. */
static int
page(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    struct buf ns = { 0 }, *into = NULL;
    int k, wanted = 0, text = 0;

    for (;;) {
        const uint64_t before = r->place.at;

        k = until(r, '<', into, *at, e);
        if (k == 0 && !r->whole)
            k = cut_off(r, e);
        if (k <= 0)
            break;
        buf_clear(&r->tag);
        k = until(r, '>', &r->tag, *at, e);
        if (k == 0)
            k = cut_off(r, e);
        if (k > 0 && (r->tag.n > TAG_MAX || r->title.n > TAG_MAX ||
            ns.n > TAG_MAX))
            k = err_set(e, EX_INPUT, "%s: offset %llu of its content: is not "
                "a dump of MediaWiki", r->from->name,
                (unsigned long long)before);
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

/* ---- sections ---- */

int
reader_middle(const struct reader *r)
{
    return r->middle;
}

int
reader_more(const struct reader *r)
{
    return r->more;
}

int
reader_parted(const struct reader *r)
{
    return r->parted;
}

const struct buf *
reader_frame(const struct reader *r, size_t *from, size_t *gap)
{
    *from = r->frame_from;
    *gap = r->gap;
    return r->json == FRAMED ? &r->frame : NULL;
}

/* Bytes of text from which on rec is to be cut. */
static size_t
section_size(const struct reader *r)
{
    return r->parted ? PART : r->s->size ? r->s->size : SIZE_MAX;
}

/* Leave in rec what is before its last cut; 0 there is none. */
static int
cut_section(struct reader *r, struct buf *rec)
{
    const struct sections *s = r->s;
    size_t k = r->parted ? 0 : s->cut(s->ctx, rec->p, rec->n);

    if (k == 0 && (r->parted || rec->n >= s->most)) {
        k = s->part(s->ctx, rec->p, rec->n);
        r->parted |= k > 0;
    }
    if (k == 0)
        return 0;
    buf_clear(&r->rest);
    buf_add(&r->rest, rec->p + k, rec->n - k);
    rec->n = k;
    rec->p[k] = '\0';
    r->more = 1;
    return 1;
}

/* A record up to byte c, as until has it, or a section of it. */
static int
section(struct reader *r, int c, struct buf *rec, struct err *e)
{
    size_t most = section_size(r);
    int k;

    for (;;) {
        k = until_most(r, c, rec, most, r->begin, e);
        if (k != STOPPED)
            return k;
        if (cut_section(r, rec))
            return 1;
        most = 2 * rec->n;
    }
}

/* Is what is left of a string in raw UTF-8, up to *n?  It may end in the
 * middle of a character, but not that of the line. */
static int
check_raw(const struct reader *r, size_t *n, struct err *e)
{
    const size_t good = uni_valid(r->raw.p, r->raw.n);
    const int ended = r->json == LINE_READ;

    *n = r->raw.n;
    if (!r->s->strict || good == r->raw.n)
        return 0;
    *n = good;
    return r->raw.n - good < 4 && !ended ? 0 :
        err_set(e, EX_INPUT, "%s: offset %llu: is not UTF-8", r->from->name,
            (unsigned long long)(r->frame_raw + good));
}

/* The text has ended, and raw holds what follows it: all but it, framed. */
static int
end_frame(struct reader *r, struct err *e)
{
    int k = 1;

    r->gap = (size_t)(r->frame_raw - r->begin) - 1 - r->frame_from -
        (sizeof SECTION_TEXT - 1) - 1;
    if (r->json == OPEN)
        k = until(r, '\n', &r->raw, r->begin, e);
    r->json = FRAMED;
    buf_adds(&r->frame, "\"" SECTION_TEXT "\"");
    buf_add(&r->frame, r->raw.p, r->raw.n);
    buf_release(&r->raw);
    r->more = 0;
    return k < 0 ? -1 : 1;
}

/* A section of the text of a line of JSON. */
static int
json_section(struct reader *r, struct buf *rec, struct err *e)
{
    size_t most = section_size(r), n, done;
    int k;

    for (;;) {
        if (check_raw(r, &n, e) < 0)
            return -1;
        k = record_string(r->raw.p, n, rec, &done);
        memmove(r->raw.p, r->raw.p + done, r->raw.n - done + 1);
        r->raw.n -= done;
        r->frame_raw += done;
        if (k > 0)
            return end_frame(r, e);
        if (k < 0 || r->json == LINE_READ)
            return err_set(e, EX_INPUT, "%s: offset %llu: %s", r->from->name,
                (unsigned long long)r->frame_raw, k < 0 ?
                "cannot be in a string" : "the string does not end");
        if (rec->n >= most) {
            if (cut_section(r, rec))
                return 1;
            most = 2 * rec->n;
        }
        k = until_most(r, '\n', &r->raw, r->raw.n + 1, r->begin, e);
        if (k < 0)
            return -1;
        if (k != STOPPED)
            r->json = LINE_READ;
    }
}

/* A line of JSON, or a section of its text. */
static int
json_line(struct reader *r, struct buf *rec, struct err *e)
{
    size_t at;
    int k;

    if (r->middle)
        return json_section(r, rec, e);
    k = until_most(r, '\n', rec, section_size(r), r->begin, e);
    if (k != STOPPED)
        return k;
    at = record_opens(rec->p, rec->n, r->s->field);
    if (at == 0)
        return until(r, '\n', rec, r->begin, e);
    r->json = OPEN;
    r->frame_from = at - 1;
    r->frame_raw = r->begin + at;
    buf_clear(&r->frame);
    buf_add(&r->frame, rec->p, at - 1);
    buf_clear(&r->raw);
    buf_add(&r->raw, rec->p + at, rec->n - at);
    buf_clear(rec);
    return json_section(r, rec, e);
}

/* ---- records ---- */

static int
is_blank(const char *p, size_t n)
{
    while (n > 0 && strchr(" \t\r\n", p[n - 1]) && p[n - 1])
        n--;
    return n == 0;
}

/* Lines up to a blank one; blank ones before are passed over.  Or a section of
 * them, which ends in a line that is not blank or behind one. */
static int
paragraph(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    size_t most = section_size(r), whole = rec->n;  /* of the paragraph */

    for (;;) {
        const uint64_t from = r->place.at;
        int k;

        if (!r->in_line && whole > 0)
            buf_addc(rec, '\n');
        else if (!r->in_line)
            *at = r->begin = from;
        do {
            k = until_most(r, '\n', rec, most, *at, e);
            if (k < 0)
                return -1;
            if (k == STOPPED)
                most = 2 * rec->n;
            r->in_line |= !is_blank(rec->p + whole, rec->n - whole);
        } while (k == STOPPED && !r->in_line);
        if (r->in_line)
            whole = rec->n;
        rec->n = whole;
        if (!r->in_line && (whole > 0 || (k == 0 && r->place.at == from)))
            return whole > 0;
        r->in_line &= k == STOPPED;
        if (whole >= section_size(r) && cut_section(r, rec))
            return 1;
    }
}

/* The next record of this member. */
static int
record(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    int k;

    if (r->from->wiki)
        return page(r, rec, at, e);
    if (!r->from->jsonl && r->split == SPLIT_BLANK)
        return paragraph(r, rec, at, e);
    if (r->from->jsonl || r->split == SPLIT_LINE) {
        k = r->from->jsonl ? json_line(r, rec, e) : section(r, '\n', rec, e);
        if (k == 0)
            k = r->place.at > r->begin;
        if (k > 0 && !r->more && rec->n > 0 && rec->p[rec->n - 1] == '\r' &&
            r->json != FRAMED)
            rec->p[--rec->n] = '\0';
        return k;
    }
    k = section(r, -1, rec, e);
    return k ? k : r->place.at > r->begin;
}

int
reader_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    int k = 0;

    buf_reserve(rec, 1);
    r->middle = r->more;
    r->more = 0;
    r->json = r->middle ? r->json : NO_FRAME;
    r->parted &= r->middle;
    r->in_line &= r->middle;
    for (;;) {
        buf_clear(rec);
        if (r->from) {
            if (!r->middle) {
                r->begin = r->place.at;
                r->sent = 0;
            }
            *at = r->begin + (r->json ? 0 : r->sent);
            if (r->rest.n > 0)
                buf_add(rec, r->rest.p, r->rest.n);
            buf_clear(&r->rest);
            k = record(r, rec, at, e);
            r->sent += rec->n;
            r->place.record += k > 0 && !r->more;
        }
        if (k || !r->packed)
            return k;
        k = read_member(r, e);
        if (k <= 0)
            return k;
        k = 0;
    }
}
