/* Readers of token files: see read.h.  No number in a file is used before it is
 * checked against the size of the file. */
#include "read.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/io.h"
#include "cli/die.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAD(file, at, ...) bad_byte(file, (uint64_t)(at), __VA_ARGS__)

static void bad_byte(const char *file, uint64_t at, const char *fmt, ...)
    __attribute__((noreturn, format(printf, 3, 4)));

static void
bad_byte(const char *file, uint64_t at, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    die(EX_INPUT, "%s: offset %" PRIu64 ": %s", file, at, text);
}

static void
map_file(struct io_map *m, const char *path)
{
    struct err e;

    if (io_map(m, path, &e) < 0)
        die_err(&e);
}

/* ---- Megatron-LM ---- */

enum { IDX_HEAD = 34 };

struct idx {
    const unsigned char *p;
    size_t n;
    const char *file;
    uint64_t nseq, ndoc;  /* number of sequences; number of documents + 1 */
    size_t len, ptr, doc; /* offsets of the three arrays in p */
    enum id_type type;
};

static void
idx_parse(struct idx *x)
{
    static const enum id_type types[] = { ID_NONE, ID_U8, ID_I8, ID_I16, ID_I32,
        ID_I64, ID_NONE, ID_NONE, ID_U16 };
    uint64_t want;

    if (x->n < IDX_HEAD)
        BAD(x->file, x->n, "the file ends inside its head of %d bytes",
            IDX_HEAD);
    if (memcmp(x->p, "MMIDIDX\0\0", 9) != 0)
        BAD(x->file, 0, "no index of Megatron-LM");
    if (le_get(x->p + 9, 8) != 1)
        BAD(x->file, 9, "version %" PRIu64 ", not 1", le_get(x->p + 9, 8));
    x->type = x->p[17] <= 8 ? types[x->p[17]] : ID_NONE;
    if (x->type == ID_NONE)
        BAD(x->file, 17, "dtype %d is none of whole numbers", x->p[17]);
    x->nseq = le_get(x->p + 18, 8);
    x->ndoc = le_get(x->p + 26, 8);
    if (x->nseq > x->n / 12 || x->ndoc > x->n / 8 || x->ndoc == 0)
        BAD(x->file, 18,
            "%" PRIu64 " sequences and %" PRIu64
            " bounds of documents do not fit a file of %zu bytes",
            x->nseq, x->ndoc, x->n);
    x->len = IDX_HEAD;
    x->ptr = x->len + 4 * (size_t)x->nseq;
    x->doc = x->ptr + 8 * (size_t)x->nseq;
    want = x->doc + 8 * x->ndoc;
    if (x->n != want && x->n != want + x->nseq)
        BAD(x->file, x->n, "the file ends here, not after %" PRIu64 " bytes",
            want);
}

/* Set the range of sequence i's ids in the .bin: first id, number of ids. */
static void
idx_sequence(const struct idx *x, uint64_t i, const struct ids_view *bin,
    size_t *from, size_t *n)
{
    const uint64_t len = le_get(x->p + x->len + 4 * i, 4);
    const uint64_t ptr = le_get(x->p + x->ptr + 8 * i, 8);
    const size_t size = id_size(bin->type);

    if (ptr % size != 0 || ptr / size > bin->n || len > bin->n - ptr / size)
        BAD(x->file, x->ptr + 8 * i,
            "sequence %" PRIu64 " has %" PRIu64 " ids from byte %" PRIu64
            " on, but %s has %zu bytes",
            i, len, ptr, bin->file, bin->n * size);
    *from = (size_t)(ptr / size);
    *n = (size_t)len;
}

/* Read the document of sequences a..b-1.  If these are not adjacent in the
 * file, copy them together first. */
static void
read_document(struct sink *s, const struct idx *x, const struct ids_view *bin,
    uint64_t a, uint64_t b)
{
    const size_t size = id_size(bin->type);
    struct buf all = { 0 };
    struct ids_view v = *bin;
    size_t first = 0, from = 0, n = 0, total = 0;
    int joined = 1;

    for (uint64_t i = a; i < b; i++) {
        idx_sequence(x, i, bin, &from, &n);
        if (i == a)
            first = from;
        joined &= from == first + total;
        total += n;
        if (total > (size_t)1 << 30)
            BAD(x->file, x->len + 4 * i, "a document of more than 2^30 ids");
    }
    if (joined) {
        sink_doc(s, bin, first, total, NULL);
        return;
    }
    for (uint64_t i = a; i < b; i++) {
        idx_sequence(x, i, bin, &from, &n);
        buf_add(&all, bin->p + from * size, n * size);
    }
    v.p = (const unsigned char *)all.p;
    v.n = total;
    v.at = le_get(x->p + x->ptr + 8 * a, 8);
    sink_doc(s, &v, 0, total, NULL);
    buf_release(&all);
}

void
read_megatron(struct sink *s, const char *path)
{
    const size_t n = strlen(path);
    const int cut = n > 4 &&
        (strcmp(path + n - 4, ".idx") == 0 ||
            strcmp(path + n - 4, ".bin") == 0);
    char *idx = xasprintf("%.*s.idx", (int)(cut ? n - 4 : n), path);
    char *bin = xasprintf("%.*s.bin", (int)(cut ? n - 4 : n), path);
    struct io_map mi, mb;
    struct idx x = { .file = idx };
    struct ids_view v = { .file = bin };
    uint64_t before = 0;

    map_file(&mi, idx);
    map_file(&mb, bin);
    x.p = mi.p;
    x.n = mi.n;
    idx_parse(&x);
    v.p = mb.p;
    v.type = x.type;
    v.n = mb.n / id_size(x.type);
    if (mb.n % id_size(x.type))
        BAD(bin, mb.n, "the file ends inside an id");
    for (uint64_t i = 0; i < x.ndoc; i++) {
        const uint64_t end = le_get(x.p + x.doc + 8 * i, 8);

        if (end < before || end > x.nseq || (i == 0 && end != 0) ||
            (i + 1 == x.ndoc && end != x.nseq))
            BAD(idx, x.doc + 8 * i,
                "bound %" PRIu64 " of the documents is %" PRIu64 " of %" PRIu64
                " sequences",
                i, end, x.nseq);
        if (i)
            read_document(s, &x, &v, before, end);
        before = end;
    }
    io_unmap(&mi);
    io_unmap(&mb);
    free(idx);
    free(bin);
}

/* ---- llm.c ---- */

void
read_llmc(struct sink *s, const char *path)
{
    enum { HEAD = 1024 };
    struct ids_view v = { .file = path, .at = HEAD };
    struct io_map m;
    uint64_t magic, version, n;

    map_file(&m, path);
    if (m.n < HEAD)
        BAD(path, m.n, "the file ends inside its head of %d bytes", HEAD);
    magic = le_get(m.p, 4);
    version = le_get(m.p + 4, 4);
    n = le_get(m.p + 8, 4);
    if (!(magic == 20240520 && version == 1) &&
        !(magic == 20240801 && version == 7))
        BAD(path, 0,
            "magic %" PRIu64 ", version %" PRIu64
            ": no token file of llm.c (20240520, 1 or 20240801, 7)",
            magic, version);
    v.type = version == 1 ? ID_U16 : ID_U32;
    if (n > INT32_MAX || m.n != HEAD + n * id_size(v.type))
        BAD(path, 8, "%" PRIu64 " tokens do not make a file of %zu bytes", n,
            m.n);
    v.p = m.p + HEAD;
    v.n = (size_t)n;
    sink_split(s, &v);
    io_unmap(&m);
}

/* ---- datatrove ---- */

/* Bytes of an id, 2 or 4, as the vocabulary needs.  If only the other width
 * fits the index and the file's size, that width. */
static size_t
ds_width(const char *path, size_t bytes, const struct io_map *ends,
    size_t vocab)
{
    const uint64_t last = ends->n >= 8 ? le_get(ends->p + ends->n - 8, 8) : 0;
    const size_t guess = vocab > 65536 ? 4 : 2;

    if (ends->n % 8)
        BAD(path, ends->n, "the .index ends inside a number");
    if (!ends->p)
        return guess;
    if (last == 0 && bytes == 0)
        return guess;
    if (last <= SIZE_MAX / 4 && last * guess == bytes)
        return guess;
    if (last <= SIZE_MAX / 4 && last * (6 - guess) == bytes)
        return 6 - guess;
    BAD(path, bytes,
        "the file ends here, but its .index ends at token %" PRIu64, last);
}

void
read_datatrove(struct sink *s, const char *path)
{
    char *index = xasprintf("%s.index", path);
    char *loss = xasprintf("%s.loss", path);
    struct io_map m, mi = { 0 }, ml = { 0 };
    struct ids_view v = { .file = path };
    uint64_t before = 0;

    map_file(&m, path);
    if (io_exists(index))
        map_file(&mi, index);
    if (io_exists(loss))
        map_file(&ml, loss);
    v.type = ds_width(path, m.n, &mi, s->info.vocab) == 2 ? ID_U16 : ID_U32;
    v.p = m.p;
    v.n = m.n / id_size(v.type);
    if (m.n % id_size(v.type))
        BAD(path, m.n, "the file ends inside an id");
    if (ml.p && ml.n != v.n)
        BAD(loss, ml.n, "the file ends here, not after %zu bytes", v.n);
    if (!mi.p && ml.p)
        BAD(index, 0, "a .loss without an .index");
    if (!mi.p)
        sink_split(s, &v);
    for (size_t i = 0; i < mi.n / 8; i++) {
        const uint64_t end = le_get(mi.p + 8 * i, 8);

        if (end < before || end > v.n)
            BAD(index, 8 * i,
                "document %zu ends at token %" PRIu64
                ", the one before it at %" PRIu64 ", the file at %zu",
                i, end, before, v.n);
        sink_doc(s, &v, (size_t)before, (size_t)(end - before),
            ml.p ? ml.p + before : NULL);
        before = end;
    }
    io_unmap(&m);
    if (mi.p)
        io_unmap(&mi);
    if (ml.p)
        io_unmap(&ml);
    free(index);
    free(loss);
}

/* ---- NumPy ---- */

/* The text after `key` (with its quotes) and a colon in the header; dies if
 * there is none. */
static const char *
npy_value(const char *path, const char *head, const char *key)
{
    const char *p = strstr(head, key);

    if (!p)
        BAD(path, 10, "the head has no %s", key);
    p += strlen(key);
    p += strspn(p, " ");
    if (*p != ':')
        BAD(path, 10, "the head has no value of %s", key);
    return p + 1 + strspn(p + 1, " ");
}

static enum id_type
npy_type(const char *path, const char *p)
{
    static const char *const descr[] = { "|u1", "|i1", "<u2", "<i2", "<u4",
        "<i4", "<u8", "<i8" };

    for (int t = 0; t < ID_NONE; t++)
        if ((*p == '\'' || *p == '"') && strncmp(p + 1, descr[t], 3) == 0 &&
            p[4] == *p)
            return (enum id_type)t;
    BAD(path, 10, "descr %.8s is none of whole little-endian numbers", p);
}

/* Parse the one or two sizes of the shape.  Returns their number; 0: the shape
 * is malformed or has more. */
static int
npy_shape(const char *path, const char *p, uint64_t d[2])
{
    int n = 0;

    if (*p++ != '(')
        BAD(path, 10, "the shape is no tuple");
    for (; n < 2; n++) {
        char *end;

        p += strspn(p, " ");
        if (*p < '0' || *p > '9')
            break;
        d[n] = strtoull(p, &end, 10);
        p = end + strspn(end, " ");
        if (*p != ',')
            return *p == ')' ? n + 1 : 0;
        p++;
    }
    p += strspn(p, " ");
    return *p == ')' ? n : 0;
}

void
read_npy(struct sink *s, const char *path)
{
    struct ids_view v = { .file = path };
    uint64_t d[2] = { 0, 1 }, len;
    struct io_map m;
    size_t at;
    char *head;
    int n;

    map_file(&m, path);
    if (m.n < 12 || memcmp(m.p, "\x93NUMPY", 6) != 0)
        BAD(path, 0, "no NumPy array");
    if (m.p[6] < 1 || m.p[6] > 3)
        BAD(path, 6, "version %d of .npy", m.p[6]);
    at = m.p[6] == 1 ? 10 : 12;
    len = le_get(m.p + 8, m.p[6] == 1 ? 2 : 4);
    if (len > m.n - at || len > 1 << 20)
        BAD(path, 8, "a head of %" PRIu64 " bytes in a file of %zu", len, m.n);
    head = xmalloc((size_t)len + 1);
    memcpy(head, m.p + at, (size_t)len);
    head[len] = '\0';
    v.type = npy_type(path, npy_value(path, head, "'descr'"));
    if (strncmp(npy_value(path, head, "'fortran_order'"), "False", 5) != 0)
        BAD(path, at, "the array is in Fortran's order");
    n = npy_shape(path, npy_value(path, head, "'shape'"), d);
    if (n == 0)
        BAD(path, at, "the shape is none of one or two sizes");
    at += (size_t)len;
    v.p = m.p + at;
    v.at = at;
    v.n = (m.n - at) / id_size(v.type);
    if (d[1] == 0 && d[0] > 0)
        BAD(path, at, "%" PRIu64 " documents of no ids", d[0]);
    if ((m.n - at) % id_size(v.type) || (d[1] && d[0] > v.n / d[1]) ||
        d[0] * d[1] != v.n)
        BAD(path, m.n,
            "the file ends here, which is not where %" PRIu64 " x %" PRIu64
            " ids end",
            d[0], d[1]);
    if (n == 1)
        sink_split(s, &v);
    for (uint64_t i = 0; n == 2 && i < d[0]; i++)
        sink_doc(s, &v, (size_t)(i * d[1]), (size_t)d[1], NULL);
    free(head);
    io_unmap(&m);
}
