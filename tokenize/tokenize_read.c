/*
 * Reading inputs; see tokenize_read.h.
 *
 * libarchive reads with tar, zip and raw only, and nothing is ever extracted:
 * the names of members are only names.  A regular file that is neither
 * compressed nor packed is read without it, so that reader_seek can seek.
 */
#include "tokenize_read_impl.h"

#include "base/io.h"
#include "base/prog.h"
#include "data/unicode.h"

#include <archive.h>
#include <archive_entry.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)256 << 10)
#define RATIO_FROM ((uint64_t)64 << 20) /* content that is always allowed */

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
origin_new(const char *name, size_t source, int jsonl)
{
    struct origin *o = xcalloc(1, sizeof *o);

    o->refs = 1;
    o->name = xstrdup(name);
    o->source = source;
    o->jsonl = jsonl;
    return o;
}

static const char *
why(struct archive *a)
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
        (double)r->content <= ratio * (double)archive_filter_bytes(r->a, -1))
        return 0;
    return err_set(e, EX_INPUT, "%s: offset %llu of its content: unpacks to "
        "more than %.0f times its size; --max-ratio allows more",
        r->from->name, (unsigned long long)r->place.at, ratio);
}

int
read_fill(struct reader *r, struct err *e)
{
    ptrdiff_t k;

    if (r->p < r->n)
        return 1;
    if (r->end)
        return 0;
    if (r->a) {
        k = archive_read_data(r->a, r->block, BLOCK);
        if (k < 0)
            return err_set(e, EX_INPUT, "%s: offset %llu of its content: %s",
                r->from->name, (unsigned long long)r->place.at, why(r->a));
    } else {
        k = io_read(r->fd, r->block, BLOCK);
        if (k < 0)
            return err_set(e, EX_SYS, "%s:", r->from->name);
    }
    r->end = k == 0;
    buf_release(&r->back);
    r->text = r->block;
    r->p = 0;
    r->n = (size_t)k;
    r->content += (size_t)k;
    return check_ratio(r, e) < 0 ? -1 : k > 0;
}

/* Does the content begin as a dump does? */
static int
is_dump(const struct reader *r)
{
    const char *p = r->block, *end = p + (r->n < 1024 ? r->n : 1024);
    const char *x;

    if (end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0)
        p += 3;
    while (p < end && strchr(" \t\r\n", *p))
        p++;
    if (end - p > 5 && memcmp(p, "<?xml", 5) == 0) {
        x = memchr(p, '>', (size_t)(end - p));
        p = x ? x + 1 : end;
        while (p < end && strchr(" \t\r\n", *p))
            p++;
    }
    return end - p > 10 && memcmp(p, "<mediawiki", 10) == 0 &&
        strchr(" \t\r\n>", p[10]);
}

/* ---- members ---- */

static int
member_error(const struct reader *r, const char *name, const char *what,
    struct err *e)
{
    long long at = archive_read_header_position(r->a);

    if (at < 0)             /* no header begins there */
        at = archive_filter_bytes(r->a, 0);
    return err_set(e, EX_INPUT, "%s%s%s: offset %lld: %s",
        input_name(r->input), *name ? "/" : "", name, at, what);
}

/* "archive/member", as it can be shown. */
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

static int
begin_content(struct reader *r, const char *name, int jsonl,
    struct err *e)
{
    size_t source = r->input->source;
    int k;

    origin_unref(r->from);
    r->from = origin_new(name, source, jsonl);
    r->end = r->last && !r->packed;
    r->p = r->n = 0;
    r->place = (struct place){ .entry = r->packed ? r->entries - 1 : 0 };
    if (r->in->o.lang_path) {
        source = inputs_path_source(r->in, name);
        if (source == r->in->nsource)
            return err_set(e, EX_INPUT, "%s: no folder or file of it is named "
                "after --lang", name);
        r->from->source = source;
    }
    k = read_fill(r, e);
    if (k > 0 && !jsonl)
        r->from->wiki = r->in->o.wiki || is_dump(r);
    r->whole = k == 0;
    return k < 0 ? -1 : 1;
}

int
read_member(struct reader *r, struct err *e)
{
    struct archive_entry *entry;

    while (!r->last) {
        int k = ARCHIVE_OK, packed;
        enum name_form form;
        const char *what = NULL;
        char *name;

        entry = r->entry;
        r->entry = NULL;
        if (!entry)
            k = archive_read_next_header(r->a, &entry);
        if (k == ARCHIVE_EOF)
            break;
        if (k != ARCHIVE_OK && k != ARCHIVE_WARN)
            return member_error(r, "", why(r->a), e);
        if (r->entries++ == r->in->o.max_members && r->in->o.max_members)
            return err_set(e, EX_INPUT, "%s: offset %lld: holds more than %zu "
                "members; --max-members allows more", input_name(r->input),
                (long long)archive_read_header_position(r->a),
                r->in->o.max_members);
        if (archive_entry_filetype(entry) != AE_IFREG ||
            archive_entry_hardlink(entry))
            continue;
        name = member_name(r, entry);
        form = name_form(name, &packed);
        if (form == NAME_OTHER && (r->in->o.wiki || r->in->o.jsonl))
            form = NAME_TEXT;
        if (archive_entry_is_data_encrypted(entry))
            k = member_error(r, name + strlen(input_name(r->input)) + 1,
                "is encrypted", e);
        else if (packed || form == NAME_OTHER || form == NAME_ARCHIVE)
            what = packed || form == NAME_ARCHIVE ? "is packed once more" :
                "is no text by its name";
        else
            k = begin_content(r, name, r->in->o.jsonl || form == NAME_JSONL,
                e);
        if (what) {
            r->skipped++;
            vnote("%s: %s: passed over", name, what);
        }
        free(name);
        if (!what)
            return k;
    }
    r->last = 1;
    return 0;
}

/* ---- opening ---- */

/* A regular file as it is, without libarchive. */
static void
make_plain(struct reader *r)
{
    struct stat st;

    if (fstat(r->fd, &st) == 0 && S_ISREG(st.st_mode) && r->input->path &&
        lseek(r->fd, 0, SEEK_SET) == 0) {
        archive_read_free(r->a);
        r->a = NULL;
    }
}

static int
open_archive(struct reader *r, struct err *e)
{
    const char *name = input_name(r->input);
    struct archive_entry *entry;
    int k, packed, none, end;

    r->a = archive_read_new();
    if (!r->a)
        die(EX_SYS, "out of memory");
    archive_read_support_filter_gzip(r->a);
    archive_read_support_filter_bzip2(r->a);
    archive_read_support_filter_xz(r->a);
    archive_read_support_filter_zstd(r->a);
    archive_read_support_filter_lz4(r->a);
    archive_read_support_format_tar(r->a);
    archive_read_support_format_zip(r->a);
    archive_read_support_format_raw(r->a);
    archive_read_support_format_empty(r->a);
    k = archive_read_open_fd(r->a, r->fd, BLOCK);
    if (k == ARCHIVE_OK)
        k = archive_read_next_header(r->a, &entry);
    if (k != ARCHIVE_OK && k != ARCHIVE_WARN && k != ARCHIVE_EOF)
        return err_set(e, EX_INPUT, "%s: offset 0: %s", name, why(r->a));
    end = k == ARCHIVE_EOF;
    none = archive_filter_code(r->a, 0) == ARCHIVE_FILTER_NONE;
    /* What is left of a file cut off in its first bytes looks like text. */
    if (none && name_form(name, &packed) != NAME_ARCHIVE && packed)
        return err_set(e, EX_INPUT, "%s: offset 0: is not compressed, though "
            "its name says so", name);
    switch (archive_format(r->a) & ARCHIVE_FORMAT_BASE_MASK) {
    case ARCHIVE_FORMAT_TAR:
    case ARCHIVE_FORMAT_ZIP:
        r->packed = 1;
        r->last = end;
        r->entry = end ? NULL : entry;
        return 0;
    }
    if (name_form(name, &packed) == NAME_ARCHIVE)
        return err_set(e, EX_INPUT, "%s: offset 0: is no archive, though its "
            "name says so", name);
    r->last = end;
    if (none && !end)
        make_plain(r);
    return begin_content(r, name, r->input->jsonl, e) < 0 ? -1 : 0;
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
reader_seek(struct reader *r, const struct place *p, struct err *e)
{
    int k = 1;

    if (r->packed)
        do
            k = read_member(r, e);
        while (k > 0 && r->place.entry < p->entry);
    if (k > 0 && !r->a && (off_t)p->at >= 0 &&
        lseek(r->fd, (off_t)p->at, SEEK_SET) >= 0) {
        r->p = r->n = 0;
        r->place.at = p->at;
        r->end = 0;
    }
    while (k > 0 && r->place.at < p->at && (k = read_fill(r, e)) > 0) {
        const uint64_t left = p->at - r->place.at;

        read_pass(r, left < r->n - r->p ? (size_t)left : r->n - r->p);
    }
    if (k < 0)
        return -1;
    if (r->place.entry != p->entry || r->place.at != p->at ||
        (!r->a && p->at > r->input->size))
        return err_set(e, EX_INPUT, "%s: is shorter than it was: member %zu, "
            "offset %llu is not there", input_name(r->input), p->entry,
            (unsigned long long)p->at);
    r->place.record = p->record;
    return 0;
}

void
reader_close(struct reader *r)
{
    if (!r)
        return;
    archive_read_free(r->a);
    if (r->fd > 0)
        close(r->fd);
    origin_unref(r->from);
    buf_release(&r->tag);
    buf_release(&r->title);
    buf_release(&r->back);
    free(r->block);
    free(r);
}

double
reader_done(const struct reader *r)
{
    return r->a ? (double)archive_filter_bytes(r->a, -1) :
        (double)(r->place.at + (r->n - r->p));
}

uint64_t
reader_skipped(const struct reader *r)
{
    return r->skipped;
}

struct origin *
reader_origin(const struct reader *r)
{
    return r->from;
}

void
reader_place(const struct reader *r, struct place *p)
{
    *p = r->place;
}
