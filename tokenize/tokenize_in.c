/* Inputs of tokenize; see tokenize_in.h. */
#include "tokenize_in.h"

#include "base/io.h"
#include "data/unicode.h"

#include <archive.h>
#include <archive_entry.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)256 << 10)

static const char *const packed[] = { ".zst", ".gz", ".xz", ".bz2", ".lz4",
    NULL };
static const char *const lines[] = { ".jsonl", ".ndjson", NULL };
static const char *const texts[] = { ".jsonl", ".ndjson", ".txt", ".text",
    NULL };

/* Length of name[n] without one of the endings, or n. */
static size_t
without(const char *name, size_t n, const char *const *ending)
{
    for (; *ending; ending++) {
        const size_t k = strlen(*ending);

        if (n > k && memcmp(name + n - k, *ending, k) == 0)
            return n - k;
    }
    return n;
}

static int
ends_in(const char *name, const char *const *ending)
{
    const size_t n = without(name, strlen(name), packed);

    return without(name, n, ending) < n;
}

const char *
input_name(const struct input *i)
{
    return i->path ? i->path : "<stdin>";
}

size_t
inputs_source(const struct inputs *in, const char *name, size_t n)
{
    size_t i;

    for (i = 0; i < in->nsource; i++)
        if (strlen(in->source[i]) == n &&
            memcmp(in->source[i], name, n) == 0)
            break;
    return i;
}

/* The source of that name, made if need be; what could not stand in a
 * stream's header is replaced. */
size_t
inputs_add_source(struct inputs *in, const char *name, size_t n)
{
    struct buf b = { 0 };
    size_t i;

    uni_repair(name, n, &b);
    for (i = 0; i < b.n; i++)
        if ((unsigned char)b.p[i] < 0x20 || b.p[i] == 0x7f)
            b.p[i] = '?';
    if (b.n == 0)
        buf_adds(&b, "text");
    i = inputs_source(in, b.p, b.n);
    if (i < in->nsource) {
        buf_release(&b);
        return i;
    }
    in->source = xreallocarray(in->source, in->nsource + 1,
        sizeof *in->source);
    in->source[in->nsource] = b.p;
    return in->nsource++;
}

/* The name without folders and what follows its first dot. */
static size_t
source_of_path(struct inputs *in, const char *path)
{
    const char *base = strrchr(path, '/');
    size_t n;

    base = base ? base + 1 : path;
    n = strcspn(base, ".");
    return inputs_add_source(in, base, n ? n : strlen(base));
}

static void
add_input(struct inputs *in, const char *path, const struct input_opts *o)
{
    struct input *i;

    in->v = xreallocarray(in->v, in->n + 1, sizeof *in->v);
    i = &in->v[in->n++];
    i->path = path ? xstrdup(path) : NULL;
    i->jsonl = o->jsonl || (path && ends_in(path, lines));
    i->source = 0;
    if (!o->lang)
        i->source = path ? source_of_path(in, path) :
            inputs_add_source(in, "stdin", 5);
}

static int
by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int
add_folder(struct inputs *in, const char *path, const struct input_opts *o,
    struct err *e)
{
    const size_t slash = strlen(path);
    DIR *d = opendir(path);
    struct dirent *x;
    char **name = NULL;
    size_t n = 0;

    if (!d)
        return err_set(e, EX_SYS, "%s:", path);
    while ((x = readdir(d)) != NULL) {
        char *full;

        if (x->d_name[0] == '.' || !ends_in(x->d_name, texts))
            continue;
        full = xasprintf("%s%s%s", path, path[slash - 1] == '/' ? "" : "/",
            x->d_name);
        if (io_is_dir(full)) {
            free(full);
            continue;
        }
        name = xreallocarray(name, n + 1, sizeof *name);
        name[n++] = full;
    }
    closedir(d);
    if (n == 0)
        return err_set(e, EX_USAGE, "%s: holds no text (.txt, .text, .jsonl, "
            ".ndjson, compressed or not)", path);
    qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; i < n; i++) {
        add_input(in, name[i], o);
        free(name[i]);
    }
    free(name);
    return 0;
}

static int
add_langs(struct inputs *in, const struct input_opts *o, struct err *e)
{
    const char *s = o->lang;

    if (!s)
        return o->lang_field ? err_set(e, EX_USAGE, "--lang-field needs the "
            "names that may occur: --lang a,b,c") : 0;
    while (o->lang_field) {
        const size_t n = strcspn(s, ",");

        inputs_add_source(in, s, n);
        if (s[n] == '\0')
            return 0;
        s += n + 1;
    }
    inputs_add_source(in, s, strlen(s));
    return 0;
}

int
inputs_list(struct inputs *in, char **operand, const struct input_opts *o,
    struct err *e)
{
    struct stat st;

    memset(in, 0, sizeof *in);
    if (add_langs(in, o, e) < 0)
        return -1;
    if (!*operand)
        add_input(in, NULL, o);
    for (; *operand; operand++) {
        if (strcmp(*operand, "-") == 0)
            add_input(in, NULL, o);
        else if (stat(*operand, &st) < 0)
            return err_set(e, EX_SYS, "%s:", *operand);
        else if (!S_ISDIR(st.st_mode))
            add_input(in, *operand, o);
        else if (add_folder(in, *operand, o, e) < 0)
            return -1;
    }
    if (in->nsource > 65536)
        return err_set(e, EX_USAGE, "more than 65536 sources");
    for (size_t i = 0; i < in->n; i++) {
        if (!in->v[i].path || stat(in->v[i].path, &st) < 0 ||
            !S_ISREG(st.st_mode)) {
            in->bytes = 0;
            break;
        }
        in->bytes += (double)st.st_size;
    }
    return 0;
}

void
inputs_release(struct inputs *in)
{
    for (size_t i = 0; i < in->n; i++)
        free(in->v[i].path);
    for (size_t i = 0; i < in->nsource; i++)
        free(in->source[i]);
    free(in->v);
    free(in->source);
    memset(in, 0, sizeof *in);
}

/* Reading. */

struct reader {
    struct archive *a;
    const char *name;
    int fd, end;
    enum split_by split;
    char *block;            /* BLOCK bytes, of which p..n are left */
    size_t p, n;
    uint64_t at;            /* offset of block[p], decompressed */
};

struct reader *
reader_open(const struct input *i, enum split_by split, struct err *e)
{
    struct reader *r = xcalloc(1, sizeof *r);
    struct archive_entry *entry;
    int k;

    r->name = input_name(i);
    r->split = i->jsonl ? SPLIT_LINE : split;
    r->block = xmalloc(BLOCK);
    r->fd = io_open(i->path, e);
    if (r->fd < 0) {
        reader_close(r);
        return NULL;
    }
    r->a = archive_read_new();
    if (!r->a)
        die(EX_SYS, "out of memory");
    archive_read_support_filter_gzip(r->a);
    archive_read_support_filter_bzip2(r->a);
    archive_read_support_filter_xz(r->a);
    archive_read_support_filter_zstd(r->a);
    archive_read_support_filter_lz4(r->a);
    archive_read_support_format_raw(r->a);
    archive_read_support_format_empty(r->a);
    k = archive_read_open_fd(r->a, r->fd, BLOCK);
    if (k == ARCHIVE_OK)
        k = archive_read_next_header(r->a, &entry);
    if (k == ARCHIVE_EOF)
        r->end = 1;
    else if (k != ARCHIVE_OK && k != ARCHIVE_WARN) {
        err_set(e, EX_INPUT, "%s: offset 0: %s", r->name,
            archive_error_string(r->a) ? archive_error_string(r->a) :
            "cannot be read");
        reader_close(r);
        return NULL;
    }
    /* What is left of a file cut off in its first bytes looks like text. */
    if (archive_filter_code(r->a, 0) == ARCHIVE_FILTER_NONE &&
        without(r->name, strlen(r->name), packed) < strlen(r->name)) {
        err_set(e, EX_INPUT, "%s: offset 0: is not compressed, though its "
            "name says so", r->name);
        reader_close(r);
        return NULL;
    }
    return r;
}

void
reader_close(struct reader *r)
{
    if (!r)
        return;
    archive_read_free(r->a);
    if (r->fd > 0)
        close(r->fd);
    free(r->block);
    free(r);
}

double
reader_done(const struct reader *r)
{
    return (double)archive_filter_bytes(r->a, -1);
}

/* 1: block[p..n] is not empty; 0: the end; -1. */
static int
fill(struct reader *r, struct err *e)
{
    la_ssize_t k;

    if (r->p < r->n)
        return 1;
    if (r->end)
        return 0;
    k = archive_read_data(r->a, r->block, BLOCK);
    if (k < 0) {
        const char *why = archive_error_string(r->a);

        return err_set(e, EX_INPUT, "%s: offset %llu of its content: %s",
            r->name, (unsigned long long)r->at, why ? why : "is damaged");
    }
    r->end = k == 0;
    r->p = 0;
    r->n = (size_t)k;
    return k > 0;
}

static int
take(struct reader *r, struct buf *rec, size_t n, uint64_t at, struct err *e)
{
    if (rec->n + n > DOC_MAX)
        return err_set(e, EX_INPUT, "%s: offset %llu: a document of more "
            "than %zu MiB%s", r->name, (unsigned long long)at, DOC_MAX >> 20,
            r->split == SPLIT_FILE ? "; cut it with --split" : "");
    buf_add(rec, r->block + r->p, n);
    r->p += n;
    r->at += n;
    return 0;
}

/* Append a line without its end; 1 there was one, 0, -1. */
static int
line(struct reader *r, struct buf *rec, struct err *e)
{
    const uint64_t at = r->at;
    int k, any = 0;

    while ((k = fill(r, e)) > 0) {
        const char *from = r->block + r->p;
        const char *end = memchr(from, '\n', r->n - r->p);

        any = 1;
        if (take(r, rec, end ? (size_t)(end - from) : r->n - r->p, at, e) < 0)
            return -1;
        if (end) {
            r->p++;
            r->at++;
            break;
        }
    }
    return k < 0 ? -1 : any;
}

static int
is_blank(const char *p, size_t n)
{
    while (n > 0 && (p[n - 1] == ' ' || p[n - 1] == '\t' ||
        p[n - 1] == '\r' || p[n - 1] == '\n'))
        n--;
    return n == 0;
}

/* Lines up to a blank one; blank ones before are passed over. */
static int
paragraph(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    size_t whole = 0;           /* bytes of the lines before this one */
    int k;

    for (;;) {
        if (whole == 0)
            *at = r->at;
        else
            buf_addc(rec, '\n');
        k = line(r, rec, e);
        if (k < 0)
            return -1;
        if (k == 0 || is_blank(rec->p + whole, rec->n - whole)) {
            rec->n = whole;
            if (k == 0 || whole > 0)
                return whole > 0;
        }
        whole = rec->n;
    }
}

int
reader_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e)
{
    int k;

    buf_reserve(rec, 1);
    buf_clear(rec);
    *at = r->at;
    if (r->split == SPLIT_BLANK)
        return paragraph(r, rec, at, e);
    if (r->split == SPLIT_LINE) {
        k = line(r, rec, e);
        if (k > 0 && rec->n > 0 && rec->p[rec->n - 1] == '\r')
            rec->p[--rec->n] = '\0';
        return k;
    }
    if (r->end && r->p == r->n)
        return 0;
    while ((k = fill(r, e)) > 0)
        if (take(r, rec, r->n - r->p, *at, e) < 0)
            return -1;
    return k < 0 ? -1 : rec->n > 0;
}
