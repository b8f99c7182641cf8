/*
 * Reading inputs; see reader.h.
 *
 * libarchive reads only tar and zip here.  Nothing is ever extracted: members'
 * names are not used as paths.  A regular file that is neither compressed nor
 * an archive is read without libarchive, so that reader_seek can seek.
 */
#include "docs/reader_parts.h"
#include "docs/cut.h"
#include "docs/kind.h"
#include "docs/warc.h"

#include "base/io.h"
#include "base/note.h"
#include "text/unicode.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK ((size_t)256 << 10)
#define TAR_BLOCK 512
#define ZIP_END (65535 + 22)            /* most bytes of a zip's last record */
#define RATIO_FROM ((uint64_t)64 << 20) /* less content may have any ratio */

struct origin *
origin_ref(struct origin *o)
{
    atomic_fetch_add(&o->refs, 1);
    return o;
}

void
origin_unref(struct origin *o)
{
    if (!o || atomic_fetch_sub(&o->refs, 1) > 1)
        return;
    free(o->name);
    free(o);
}

static struct origin *
origin_new(const char *name, size_t source)
{
    struct origin *o = xcalloc(1, sizeof *o);

    o->refs = 1;
    o->name = xstrdup(name);
    o->source = source;
    return o;
}

static int
copy_err(struct err *e, const struct err *from)
{
    *e = *from;
    return -1;
}

static const char *
archive_why(struct archive *a)
{
    const char *s = archive_error_string(a);

    return s ? s : "is damaged";
}

/* ---- content ---- */

static int
check_ratio(const struct reader *r, struct err *e)
{
    const double ratio = (double)r->in->o.max_ratio;

    if (!r->a || ratio == 0 || r->content <= RATIO_FROM ||
        (double)r->content <= ratio * (double)unpack_fed(r->u))
        return 0;
    return err_set(e, EX_INPUT,
        "%s: offset %llu of its content: unpacks to more than %.0f times its "
        "size; --max-ratio allows more",
        r->from->name, (unsigned long long)r->place.at, ratio);
}

/* Refuse the block just read if
 * - it is not text, by the first bytes of the content or a NUL byte; or
 * - the file unpacks to more than --max-ratio allows. */
static int
check_block(const struct reader *r, struct err *e)
{
    const char *what = r->place.at == 0 ? kind_of(r->block, r->n) : NULL;
    const char *nul = what || r->in->o.lossy ? NULL : memchr(r->block, 0, r->n);
    const uint64_t at = nul ? r->place.at + (uint64_t)(nul - r->block) : 0;

    if (nul)
        what = kind_nul(r->block, r->n, (size_t)(nul - r->block));
    return !what
        ? check_ratio(r, e)
        : err_set(e, EX_INPUT, "%s: offset %llu%s: %s", r->from->name,
              (unsigned long long)at, r->a ? " of its content" : "", what);
}

/* libarchive's read callback: give the next decompressed bytes of the archive.
 */
static la_ssize_t
feed_archive(struct archive *a, void *ctx, const void **p)
{
    struct reader *r = ctx;
    const ptrdiff_t k = unpack_read(r->u, r->feed, BLOCK, &r->fault);

    (void)a;
    for (ptrdiff_t i = k; i > 0; i--)
        if (r->feed[i - 1]) {
            r->filled = r->seen + (uint64_t)i;
            break;
        }
    if (k > 0) {
        r->fed = (uint64_t)k;
        r->seen += r->fed;
    }
    *p = r->feed;
    return k;
}

static la_int64_t
feed_from(struct archive *a, void *ctx, la_int64_t at, int whence)
{
    struct reader *r = ctx;
    const int64_t k = unpack_seek(r->u, at, whence);

    (void)a;
    if (k >= 0)
        r->seen = (uint64_t)k;
    return k < 0 ? ARCHIVE_FATAL : k;
}

/* Read the next block of this member; it is empty at the member's end. */
static int
read_content_block(struct reader *r, struct err *e)
{
    ptrdiff_t k;

    if (r->a) {
        k = archive_read_data(r->a, r->block, BLOCK);
        if (r->fault.code)
            return copy_err(e, &r->fault);
        if (k < 0)
            return err_set(e, EX_INPUT, "%s: offset %llu of its content: %s",
                r->from->name, (unsigned long long)r->place.at,
                archive_why(r->a));
    } else {
        k = unpack_read(r->u, r->block, BLOCK, e);
        if (k < 0)
            return -1;
    }
    r->end = k == 0;
    buf_release(&r->back);
    r->text = r->block;
    r->p = 0;
    r->n = (size_t)k;
    r->content += (size_t)k;
    return 0;
}

int
reader_fill(struct reader *r, struct err *e)
{
    if (r->p < r->n)
        return 1;
    if (r->end)
        return 0;
    if (read_content_block(r, e) < 0 || check_block(r, e) < 0)
        return -1;
    return r->n > 0;
}

/* ---- members ---- */

static int
member_error(const struct reader *r, const char *name, const char *what,
    struct err *e)
{
    long long at = archive_read_header_position(r->a);

    if (r->fault.code)
        return copy_err(e, &r->fault);
    if (at < 0) /* unknown: no header was read */
        at = archive_filter_bytes(r->a, 0);
    return err_set(e, EX_INPUT, "%s%s%s: offset %lld: %s", input_name(r->input),
        *name ? "/" : "", name, at, what);
}

/* Make the name "archive/member", with unprintable bytes replaced. */
static char *
member_name(const struct reader *r, struct archive_entry *entry)
{
    const char *name = archive_entry_pathname_utf8(entry);
    struct buf b = { 0 };

    if (!name)
        name = archive_entry_pathname(entry);
    buf_addf(&b, "%s/", input_name(r->input));
    if (name)
        uni_repair(name, strlen(name), &b);
    else
        buf_addf(&b, "%zu", r->entries - 1);
    for (size_t i = 0; i < b.n; i++)
        if ((unsigned char)b.p[i] < 0x20 || b.p[i] == 0x7f)
            b.p[i] = '?';
    return b.p;
}

/* ---- the end of an archive ---- */

static const char *
find_mark(const char *p, size_t n, const char mark[4])
{
    const char *end = p + n;

    for (; n >= 4 && (p = memchr(p, 'P', n - 3)) != NULL; p++) {
        if (memcmp(p, mark, 4) == 0)
            return p;
        n = (size_t)(end - p) - 1;
    }
    return NULL;
}

static uint32_t
le32(const char *p)
{
    const unsigned char *u = (const unsigned char *)p;

    return u[0] | (uint32_t)u[1] << 8 | (uint32_t)u[2] << 16 |
        (uint32_t)u[3] << 24;
}

/* A seekable zip was read by the directory at its end.  Refuse it if bytes
 * before its members are not accounted for in the directory, as in two zips
 * joined.  Zip64 is not checked. */
static int
check_zip(struct reader *r, struct err *e)
{
    const int64_t size = unpack_seek(r->u, 0, SEEK_END);
    const int64_t from = size > ZIP_END ? size - ZIP_END : 0;
    const char *p = r->feed, *last = NULL;
    ptrdiff_t n;

    if (size < 0 || unpack_seek(r->u, from, SEEK_SET) < 0)
        return err_set(e, EX_SYS, "%s:", input_name(r->input));
    n = unpack_read(r->u, r->feed, ZIP_END, e);
    if (n < 0)
        return -1;
    while ((p = find_mark(p, (size_t)(r->feed + n - p), "PK\5\6")) != NULL)
        last = p++;
    if (!last || r->feed + n - last < 22 || le32(last + 16) == UINT32_MAX ||
        from + (last - r->feed) - le32(last + 12) <= le32(last + 16))
        return 0;
    return err_set(e, EX_INPUT,
        "%s: offset 0: more stands before what the zip's directory tells of",
        input_name(r->input));
}

/* A zip from a pipe was read from its beginning.  Refuse it if another zip
 * begins in p[n], bytes after its members. */
static int
check_rest(const struct reader *r, const char *p, size_t n, struct err *e)
{
    return !find_mark(p, n, "PK\3\4")
        ? 0
        : err_set(e, EX_INPUT,
              "%s: offset %lld: the archive ends here, but more follows",
              input_name(r->input),
              (long long)archive_read_header_position(r->a));
}

/* Refuse an archive, now read to its end, that is not complete or has other
 * data behind it, which would be lost.  A tar must end in at least two blocks
 * of zeros.  (At the end, archive_read_header_position gives the offset of the
 * archive's end.) */
static int
end_archive(struct reader *r, struct err *e)
{
    const uint64_t at = (uint64_t)archive_read_header_position(r->a);
    const int tar =
        (archive_format(r->a) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
    const char *name = input_name(r->input);
    const void *p;
    uint64_t used;
    la_ssize_t k;

    r->last = 1;
    if (r->fault.code)
        return copy_err(e, &r->fault);
    if (!tar && unpack_seeks(r->u))
        return check_zip(r, e);
    used = (uint64_t)archive_filter_bytes(r->a, 0);
    if (!tar && used < r->seen && used + r->fed >= r->seen &&
        check_rest(r, r->feed + (used + r->fed - r->seen),
            (size_t)(r->seen - used), e) < 0)
        return -1;
    while ((k = feed_archive(r->a, r, &p)) > 0) {
        r->content += (uint64_t)k;
        if (check_ratio(r, e) < 0 ||
            (!tar && check_rest(r, r->feed, (size_t)k, e) < 0))
            return -1;
    }
    if (k < 0)
        return copy_err(e, &r->fault);
    if (tar && r->filled > at)
        return err_set(e, EX_INPUT,
            "%s: offset %llu: the archive ends here, but more follows", name,
            (unsigned long long)at);
    if (tar && r->seen < at + 2 * TAR_BLOCK)
        return err_set(e, EX_INPUT,
            "%s: offset %llu: the archive is cut off: its end is missing", name,
            (unsigned long long)at);
    return 0;
}

/* With --lang-path, set r->from->source to the source that the file's name
 * contains. */
static int
source_of_path(struct reader *r, struct err *e)
{
    if (!r->in->o.lang_path)
        return 0;
    r->from->source = inputs_path_source(r->in, r->from->name);
    return r->from->source < r->in->nsource
        ? 0
        : err_set(e, EX_INPUT,
              "%s: no folder or file of it is named after --lang",
              r->from->name);
}

/* Find out by options, name (`form`) and first block whether the content is
 * JSONL, a Wikipedia dump or WARC.  Standard input has no name: its first line
 * decides. */
static void
see_form(struct reader *r, enum name_form form)
{
    const int nameless = !r->packed && !r->input->path;

    r->from->documents = r->input->documents;
    r->from->jsonl = r->from->documents || r->in->o.jsonl ||
        form == NAME_JSONL || r->input->conversations ||
        (r->n > 0 && !r->in->o.wiki && (form == NAME_JSON || nameless) &&
            kind_is_lines(r->block, r->n));
    r->from->wiki = r->n > 0 && !r->from->jsonl &&
        (r->in->o.wiki || kind_is_dump(r->block, r->n));
    r->from->warc =
        !r->from->jsonl && !r->from->wiki && warc_begins(r->block, r->n);
    r->whole = r->n == 0;
}

/* Skip the first line of documents, which inputs_list has read. */
static int
pass_line(struct reader *r, struct err *e)
{
    int k;

    while ((k = reader_fill(r, e)) > 0) {
        const char *p = r->text + r->p;
        const char *end = memchr(p, '\n', r->n - r->p);

        reader_pass(r, end ? (size_t)(end - p) + 1 : r->n - r->p);
        if (end)
            return 0;
    }
    return k;
}

/* Begin to read a file or member.  A member may be skipped: then *why is set to
 * the reason. */
static int
begin_content(struct reader *r, const char *name, enum name_form form,
    const char **why, struct err *e)
{
    const int forced = r->in->o.jsonl || r->in->o.wiki;
    const char *what = NULL;

    origin_unref(r->from);
    r->from = origin_new(name, r->input->source);
    r->end = r->last && !r->packed;
    r->p = r->n = 0;
    r->place = (struct doc_place){ .entry = r->packed ? r->entries - 1 : 0 };
    if (!r->end && read_content_block(r, e) < 0)
        return -1;
    see_form(r, form);
    if (r->packed && !forced && (*why = name_is_text(form, r->block, r->n)))
        return 0;
    if (!r->packed && !forced && form == NAME_JSON && !r->from->jsonl)
        what = kind_of_json(r->block, r->n);
    if (r->packed && documents_begin(r->block, r->n) > 0)
        what = "holds documents of clean: take it out of the archive";
    if (what)
        return err_set(e, EX_INPUT, "%s: offset 0: %s", name, what);
    if (source_of_path(r, e) < 0 || check_block(r, e) < 0)
        return -1;
    return r->from->documents ? pass_line(r, e) : 0;
}

/* Begin a member that is a file: 1: it is read; 0: it is skipped; -1 and *e. */
static int
begin_member(struct reader *r, struct archive_entry *entry, struct err *e)
{
    char *name = member_name(r, entry);
    int packed, k = 0;
    const enum name_form form = name_form(name, &packed);
    const int forced = r->in->o.wiki || r->in->o.jsonl;
    const char *why = NULL;

    if (archive_entry_is_data_encrypted(entry))
        k = member_error(r, name + strlen(input_name(r->input)) + 1,
            "is encrypted", e);
    else if (packed || form == NAME_ARCHIVE)
        why = "is packed once more";
    else if (form == NAME_OTHER && !forced)
        why = name_is_text(form, NULL, 0);
    else
        k = begin_content(r, name, form, &why, e);
    if (why)
        passed_add(&r->passed, name, why);
    free(name);
    return k < 0 ? -1 : !why;
}

/* Go to the next member that is text.  Returns 1; 0: there is none; -1 and *e.
 */
static int
next_member(struct reader *r, struct err *e)
{
    struct archive_entry *entry;

    while (!r->last) {
        int k = ARCHIVE_OK;

        entry = r->entry;
        r->entry = NULL;
        if (!entry)
            k = archive_read_next_header(r->a, &entry);
        if (k == ARCHIVE_EOF)
            return end_archive(r, e);
        if (k != ARCHIVE_OK && k != ARCHIVE_WARN)
            return member_error(r, "", archive_why(r->a), e);
        if (r->entries++ == r->in->o.max_members && r->in->o.max_members)
            return err_set(e, EX_INPUT,
                "%s: offset %lld: holds more than %zu members; --max-members "
                "allows more",
                input_name(r->input),
                (long long)archive_read_header_position(r->a),
                r->in->o.max_members);
        if (archive_entry_filetype(entry) != AE_IFREG ||
            archive_entry_hardlink(entry))
            continue;
        if ((k = begin_member(r, entry, e)) != 0)
            return k;
    }
    return 0;
}

/* ---- opening ---- */

/* Open r->a.  Returns the format of the input's content, ARCHIVE_FORMAT_RAW for
 * content that is no archive; *end: 1 if there is no member.  -1 and *e. */
static int
open_format(struct reader *r, int *end, struct err *e)
{
    const char *name = input_name(r->input);
    int k;

    r->a = archive_read_new();
    if (!r->a)
        mem_exhausted("reading %s", name);
    r->feed = xmalloc(BLOCK);
    archive_read_support_format_tar(r->a);
    archive_read_support_format_zip(r->a);
    archive_read_support_format_raw(r->a);
    archive_read_support_format_empty(r->a);
    if (unpack_seeks(r->u))
        archive_read_set_seek_callback(r->a, feed_from);
    k = archive_read_open(r->a, r, NULL, feed_archive, NULL);
    if (k == ARCHIVE_OK)
        k = archive_read_next_header(r->a, &r->entry);
    if (r->fault.code)
        return copy_err(e, &r->fault);
    if (k != ARCHIVE_OK && k != ARCHIVE_WARN && k != ARCHIVE_EOF)
        return err_set(e, EX_INPUT, "%s: offset 0: %s", name,
            archive_why(r->a));
    *end = k == ARCHIVE_EOF;
    if (*end)
        r->entry = NULL;
    return archive_format(r->a) & ARCHIVE_FORMAT_BASE_MASK;
}

static int
open_archive(struct reader *r, struct err *e)
{
    const char *name = input_name(r->input);
    int packed, format, end = 0;
    const enum name_form form = name_form(name, &packed);
    const int named = form == NAME_ARCHIVE;
    const char *why;

    r->u = r->input->unpack ? r->input->unpack : unpack_open(r->fd, name, e);
    if (!r->u)
        return -1;
    /* A compressed file cut off within its first bytes looks like text. */
    if (!named && packed && !unpack_is_packed(r->u))
        return err_set(e, EX_INPUT,
            "%s: offset 0: is not compressed, though its name says so", name);
    /* Documents never lie in an archive: do not look for an archive. */
    if (r->input->documents && !unpack_is_packed(r->u))
        return begin_content(r, name, form, &why, e);
    format = open_format(r, &end, e);
    if (format < 0)
        return -1;
    /* NUL bytes alone are an empty tar, but may also be a damaged text. */
    if (end && format == ARCHIVE_FORMAT_TAR && !named && r->input->path) {
        if (!r->in->o.lossy || !unpack_seeks(r->u))
            return err_set(e, EX_INPUT, "%s: offset 0: %s", name,
                kind_nul("", 1, 0));
        format = ARCHIVE_FORMAT_RAW;
        end = 0;
    }
    if (format == ARCHIVE_FORMAT_TAR || format == ARCHIVE_FORMAT_ZIP) {
        r->packed = 1;
        return end ? end_archive(r, e) : 0;
    }
    if (named)
        return err_set(e, EX_INPUT,
            "%s: offset 0: is no archive, though its name says so", name);
    r->last = end;
    r->entry = NULL;
    if (unpack_seeks(r->u) && r->input->path) {
        archive_read_free(r->a);
        r->a = NULL;
        if (unpack_seek(r->u, 0, SEEK_SET) != 0)
            return err_set(e, EX_SYS, "%s:", name);
    }
    return begin_content(r, name, form, &why, e);
}

struct reader *
reader_open(const struct inputs *in, size_t which, enum split_by split,
    const struct doc_limit *limit, struct err *e)
{
    struct reader *r = xcalloc(1, sizeof *r);

    r->in = in;
    r->input = &in->v[which];
    r->split = split;
    r->limit = limit;
    r->block = xmalloc(BLOCK);
    r->fd = io_open(r->input->path, e);
    if (r->fd >= 0 && open_archive(r, e) == 0)
        return r;
    reader_close(r);
    return NULL;
}

int
reader_seek(struct reader *r, const struct doc_place *p, struct err *e)
{
    int k = 1;

    if (r->packed)
        do
            k = next_member(r, e);
        while (k > 0 && r->place.entry < p->entry);
    if (k > 0 && !r->a && r->input->path && (int64_t)p->at >= 0 &&
        unpack_seek(r->u, (int64_t)p->at, SEEK_SET) >= 0) {
        r->p = r->n = 0;
        r->place.at = p->at;
        r->end = 0;
    }
    while (k > 0 && r->place.at < p->at && (k = reader_fill(r, e)) > 0) {
        const uint64_t left = p->at - r->place.at;

        reader_pass(r, left < r->n - r->p ? (size_t)left : r->n - r->p);
    }
    if (k < 0)
        return -1;
    if (r->place.entry != p->entry || r->place.at != p->at ||
        (!r->a && r->input->path && p->at > r->input->size))
        return err_set(e, EX_INPUT,
            "%s: is shorter than it was: member %zu, offset %llu is not there",
            input_name(r->input), p->entry, (unsigned long long)p->at);
    r->place.record = p->record;
    return 0;
}

int
reader_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    buf_reserve(rec, 1);
    for (;;) {
        int k = 0;

        buf_clear(rec);
        if (r->from) {
            *at = r->place.at;
            k = cut_record(r, rec, at, e);
            r->place.record += k > 0;
        }
        if (k || !r->packed)
            return k;
        k = next_member(r, e);
        if (k <= 0)
            return k;
    }
}

void
reader_close(struct reader *r)
{
    if (!r)
        return;
    archive_read_free(r->a);
    if (r->u != r->input->unpack)
        unpack_close(r->u);
    free(r->feed);
    if (r->fd > 0)
        close(r->fd);
    origin_unref(r->from);
    buf_release(&r->tag);
    buf_release(&r->title);
    buf_release(&r->back);
    passed_release(&r->passed);
    free(r->block);
    free(r);
}

double
reader_done(const struct reader *r)
{
    return r->a ? (double)unpack_fed(r->u)
                : (double)(r->place.at + (r->n - r->p));
}

const struct passed *
reader_passed(const struct reader *r)
{
    return &r->passed;
}

struct origin *
reader_origin(const struct reader *r)
{
    return r->from;
}

void
reader_place(const struct reader *r, struct doc_place *p)
{
    *p = r->place;
}
