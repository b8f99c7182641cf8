/*
 * MosaicML Streaming's MDS, version 2. index.json lists shards.  A shard is
 *   u32 n, u32 offset[n+1], JSON of the columns, samples
 * A sample begins with a u32 size for each column without a fixed size; then
 * come the columns' bytes.  An array column is "ndarray[:dtype[:shape]]".  If
 * dtype or shape is not fixed there, it comes before the values: the dtype as a
 * byte; the shape as a byte (number of sizes, width of a size), then the sizes.
 */
#include "mds.h"
#include "base/bytes.h"
#include "base/err.h"
#include "cli/die.h"
#include "format/json.h"
#include "file_out.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { LIMIT = 1 << 26, COLUMNS = 64 };

/* ---- reading ---- */

struct mds {
    const char *index;      /* path of the index, for errors */
    char *file;             /* path of the shard */
    const unsigned char *p; /* content of the shard */
    size_t n;
    size_t ncol;            /* number of columns */
    size_t col;             /* index of the column with the ids */
    uint64_t size[COLUMNS]; /* bytes of each column; 0: given in each sample */
    int bytes;              /* 1: the encoding is "bytes", taken for int64 */
    enum id_type type; /* type of ids; ID_NONE: each sample names its own */
    int has_shape;     /* the encoding names the shape of all samples */
};

/* Parse "ndarray", "ndarray:uint16", "ndarray:uint16:2048" or "bytes"; 0, or
 * -1. */
static int
parse_encoding(struct mds *m, const char *s)
{
    const char *colon;

    m->bytes = strcmp(s, "bytes") == 0;
    m->type = m->bytes ? ID_I64 : ID_NONE;
    m->has_shape = 0;
    if (m->bytes || strcmp(s, "ndarray") == 0)
        return 0;
    if (strncmp(s, "ndarray:", 8) != 0)
        return -1;
    s += 8;
    colon = strchr(s, ':');
    m->type = id_type_of(s, colon ? (size_t)(colon - s) : strlen(s));
    m->has_shape = colon != NULL;
    return m->type == ID_NONE ? -1 : 0;
}

static void
read_mds_columns(struct mds *m, const json_t *o, size_t shard)
{
    const json_t *names = js_get(o, "column_names");
    const json_t *enc = js_get(o, "column_encodings");
    const json_t *sizes = js_get(o, "column_sizes");

    m->ncol = json_array_size(names);
    m->col = SIZE_MAX;
    if (m->ncol == 0 || m->ncol > COLUMNS || json_array_size(enc) != m->ncol ||
        json_array_size(sizes) != m->ncol)
        die(EX_INPUT, "%s: shard %zu: the columns do not fit each other",
            m->index, shard);
    for (size_t i = 0; i < m->ncol; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        const json_int_t v = json_integer_value(json_array_get(sizes, i));

        if (v < 0)
            die(EX_INPUT, "%s: shard %zu: column_sizes: %" JSON_INTEGER_FORMAT,
                m->index, shard, v);
        m->size[i] = (uint64_t)v;
        if (name &&
            (strcmp(name, "tokens") == 0 || strcmp(name, "input_ids") == 0) &&
            m->col == SIZE_MAX)
            m->col = i;
    }
    if (m->col == SIZE_MAX)
        die(EX_INPUT, "%s: shard %zu: no column tokens or input_ids", m->index,
            shard);
    if (!json_is_string(json_array_get(enc, m->col)) ||
        parse_encoding(m, json_string_value(json_array_get(enc, m->col))) < 0)
        die(EX_INPUT, "%s: shard %zu: the ids are no array of whole numbers",
            m->index, shard);
}

/* Read a document, the value p[n] at offset `at` of the shard. */
static void
read_value(struct sink *s, const struct mds *m, const unsigned char *p,
    size_t n, size_t at)
{
    const unsigned char *const begin = p, *const end = p + n;
    struct ids_view v = { .file = m->file, .type = m->type };
    uint64_t count = 1;

    if (m->type == ID_NONE) {
        static const enum id_type by_size[] = { ID_NONE, ID_U8, ID_U16, ID_NONE,
            ID_U32, ID_NONE, ID_NONE, ID_NONE, ID_U64 };
        const int code = p < end ? *p++ : 0, size = code / 8;

        v.type = size <= 8 && code % 8 < 2 ? by_size[size] : ID_NONE;
        if (v.type != ID_NONE && code % 8)
            v.type++; /* the signed type follows the unsigned one */
        if (v.type == ID_NONE)
            die(EX_INPUT, "%s: offset %zu: dtype %d is none of whole numbers",
                m->file, at, code);
    }
    if (!m->has_shape && !m->bytes) {
        const int dims = p < end ? *p >> 2 : 0,
                  width = p < end ? 1 << *p % 4 : 1;

        p += p < end;
        if ((ptrdiff_t)dims * width > end - p)
            die(EX_INPUT, "%s: offset %zu: an array that ends inside its shape",
                m->file, at);
        for (int i = 0; i < dims; i++, p += width) {
            const uint64_t d = le_get(p, width);

            if (d && count > n / d)
                die(EX_INPUT,
                    "%s: offset %zu: an array of more values than its %zu "
                    "bytes hold",
                    m->file, at, n);
            count *= d;
        }
    } else {
        count = (uint64_t)(end - p) / id_size(v.type);
    }
    if (count * id_size(v.type) != (uint64_t)(end - p))
        die(EX_INPUT, "%s: offset %zu: %" PRIu64 " ids do not fill %td bytes",
            m->file, at, count, end - p);
    v.p = p;
    v.n = (size_t)count;
    v.at = at + (uint64_t)(p - begin);
    sink_doc(s, &v, 0, v.n, NULL);
}

/* Read the sample at [a,b) of the shard. */
static void
read_sample(struct sink *s, const struct mds *m, size_t a, size_t b)
{
    size_t at = a, skip = 0, n = 0;

    for (size_t i = 0; i < m->ncol; i++) {
        uint64_t size = m->size[i];

        if (size == 0) {
            if (b - at < 4)
                die(EX_INPUT,
                    "%s: offset %zu: the sample ends inside its sizes", m->file,
                    at);
            size = le_get(m->p + at, 4);
            at += 4;
        }
        if (size > b - a)
            die(EX_INPUT,
                "%s: offset %zu: a value of %" PRIu64
                " bytes in a sample of %zu",
                m->file, at, size, b - a);
        if (i < m->col)
            skip += (size_t)size;
        else if (i == m->col)
            n = (size_t)size;
    }
    if (skip > b - at || n > b - at - skip)
        die(EX_INPUT, "%s: offset %zu: the sample ends inside its values",
            m->file, at);
    read_value(s, m, m->p + at + skip, n, at + skip);
}

/* Check the hashes of known kinds; others are ignored. */
static void
check_hashes(const struct mds *m, const json_t *raw)
{
    const char *want;
    char have[20];

    want = json_string_value(js_get(raw, "hashes.xxh3_64"));
    if (want) {
        snprintf(have, sizeof have, "%016" PRIx64,
            (uint64_t)XXH3_64bits(m->p, m->n));
        if (strcmp(want, have) != 0)
            die(EX_INPUT, "%s: offset 0: its xxh3_64 is %s, not %.20s: damaged",
                m->file, have, want);
    }
    want = json_string_value(js_get(raw, "hashes.xxh64"));
    if (want) {
        snprintf(have, sizeof have, "%016" PRIx64,
            (uint64_t)XXH64(m->p, m->n, 0));
        if (strcmp(want, have) != 0)
            die(EX_INPUT, "%s: offset 0: its xxh64 is %s, not %.20s: damaged",
                m->file, have, want);
    }
}

static void
read_shard(struct sink *s, struct mds *m, const char *dir, const json_t *o,
    size_t shard)
{
    const json_t *raw = js_get(o, "raw_data");
    const char *name = json_string_value(js_get(raw, "basename"));
    const json_t *samples = js_get(o, "samples");
    struct io_map map;
    struct err e;
    uint64_t n, at;

    if (!name || strchr(name, '/') || *name == '.')
        die(EX_INPUT, "%s: shard %zu: no name of a file", m->index, shard);
    m->file = xasprintf("%s/%s", dir, name);
    if (!io_exists(m->file) && json_is_object(js_get(o, "zip_data")))
        die(EX_INPUT,
            "%s: is there only compressed (zip_data); decompress it first",
            m->file);
    if (io_map(&map, m->file, &e) < 0)
        die_err(&e);
    m->p = map.p;
    m->n = map.n;
    read_mds_columns(m, o, shard);
    if (json_integer_value(js_get(raw, "bytes")) != (json_int_t)m->n)
        die(EX_INPUT,
            "%s: offset %zu: the file ends here, not after "
            "%" JSON_INTEGER_FORMAT " bytes",
            m->file, m->n, json_integer_value(js_get(raw, "bytes")));
    check_hashes(m, raw);
    n = m->n >= 4 ? le_get(m->p, 4) : UINT32_MAX;
    if (n >= m->n / 4 || 4 + 4 * (n + 1) > m->n ||
        (json_int_t)n != json_integer_value(samples))
        die(EX_INPUT,
            "%s: offset 0: %" PRIu64
            " samples, but the index says %" JSON_INTEGER_FORMAT,
            m->file, n, json_integer_value(samples));
    for (at = 0; at < n; at++) {
        const uint64_t a = le_get(m->p + 4 + 4 * at, 4);
        const uint64_t b = le_get(m->p + 8 + 4 * at, 4);

        if (a < 4 + 4 * (n + 1) || b < a || b > m->n)
            die(EX_INPUT,
                "%s: offset %" PRIu64 ": sample %" PRIu64 " from %" PRIu64
                " to %" PRIu64 " of %zu bytes",
                m->file, 4 + 4 * at, at, a, b, m->n);
        read_sample(s, m, (size_t)a, (size_t)b);
    }
    io_unmap(&map);
    free(m->file);
}

void
read_mds(struct sink *s, const char *path)
{
    char *index = xasprintf("%s/index.json", path);
    struct mds m = { .index = index };
    struct err e;
    json_t *j = js_load(index, JS_MAX, &e);
    const json_t *shards;

    if (!j)
        die_err(&e);
    if (json_integer_value(js_get(j, "version")) != 2)
        die(EX_INPUT, "%s: version is not 2", index);
    shards = js_get(j, "shards");
    if (!json_is_array(shards))
        die(EX_INPUT, "%s: shards is no list", index);
    for (size_t i = 0; i < json_array_size(shards); i++) {
        const json_t *o = json_array_get(shards, i);
        const char *format = json_string_value(js_get(o, "format"));

        if (!format || strcmp(format, "mds") != 0)
            die(EX_INPUT, "%s: shard %zu: its format is not mds", index, i);
        read_shard(s, &m, path, o, i);
    }
    json_decref(j);
    free(index);
}

/* ---- writing ---- */

struct mds_out {
    char *path;
    int bytes; /* bytes of an id */
    size_t nfile;
    struct buf sizes; /* u32: size of each sample of this shard */
    struct buf samples;
    struct buf index; /* text of the members of "shards" */
};

struct mds_out *
mds_begin(const char *path, size_t vocab)
{
    struct mds_out *m = xcalloc(1, sizeof *m);
    struct err e;
    char *index = xasprintf("%s/index.json", path);

    if (io_exists(index))
        die(EX_USAGE, "%s: is there already: remove it or give another name",
            index);
    if (io_mkdirs(path, &e) < 0)
        die_err(&e);
    free(index);
    m->path = xstrdup(path);
    m->bytes = vocab > 65536 ? 4 : 2;
    return m;
}

/* Append the description of the columns, as shards and the index have it. */
static void
add_config(const struct mds_out *m, struct buf *b, const char *close)
{
    buf_addf(b,
        "{\"column_encodings\": [\"ndarray:uint%d\"], \"column_names\": "
        "[\"tokens\"], \"column_sizes\": [null], \"compression\": null, "
        "\"format\": \"mds\", \"hashes\": [\"xxh3_64\"], ",
        8 * m->bytes);
    buf_adds(b, close);
}

static void
flush_shard(struct mds_out *m)
{
    const size_t n = m->sizes.n / 4;
    struct buf config = { 0 }, head = { 0 };
    uint32_t at, k = (uint32_t)n;
    XXH3_state_t *x;
    char name[32], *path;
    struct file_out f;

    if (n == 0)
        return;
    add_config(m, &config, "\"size_limit\": 67108864, \"version\": 2}");
    buf_add(&head, &k, 4);
    at = (uint32_t)(4 + 4 * (n + 1) + config.n);
    for (size_t i = 0; i <= n; i++) {
        buf_add(&head, &at, 4);
        if (i < n)
            memcpy(&k, m->sizes.p + 4 * i, 4);
        at += k;
    }
    buf_add(&head, config.p, config.n);
    snprintf(name, sizeof name, "shard.%05zu.mds", m->nfile++);
    path = xasprintf("%s/%s", m->path, name);
    file_begin(&f, path);
    file_add(&f, head.p, head.n);
    file_add(&f, m->samples.p, m->samples.n);
    file_commit(&f);
    x = XXH3_createState();
    if (!x)
        die(EX_SYS, "out of memory");
    XXH3_64bits_reset(x);
    XXH3_64bits_update(x, head.p, head.n);
    XXH3_64bits_update(x, m->samples.p, m->samples.n);
    if (m->nfile > 1)
        buf_adds(&m->index, ", ");
    add_config(m, &m->index, "");
    buf_addf(&m->index,
        "\"raw_data\": {\"basename\": \"%s\", \"bytes\": %zu, \"hashes\": "
        "{\"xxh3_64\": \"%016" PRIx64
        "\"}}, \"samples\": %zu, \"size_limit\": 67108864, \"version\": 2, "
        "\"zip_data\": null}",
        name, head.n + m->samples.n, (uint64_t)XXH3_64bits_digest(x), n);
    XXH3_freeState(x);
    free(path);
    buf_release(&config);
    buf_release(&head);
    buf_clear(&m->sizes);
    buf_clear(&m->samples);
}

void
mds_doc(struct mds_out *m, const uint32_t *ids, size_t count)
{
    const int code = count < 1 << 8 ? 0 : count < 1 << 16 ? 1 : 2;
    const int width = 1 << code;
    const size_t bytes = 1 + (size_t)width + count * (size_t)m->bytes;
    const uint32_t size = (uint32_t)bytes, all = size + 4, n = (uint32_t)count;

    if (bytes > (size_t)1 << 31)
        die(EX_INPUT, "%s: a document of %zu tokens is too long for MDS",
            m->path, count);
    if (m->sizes.n && m->samples.n + bytes + m->sizes.n + 512 > LIMIT)
        flush_shard(m);
    buf_add(&m->sizes, &all, 4);
    buf_add(&m->samples, &size, 4);
    buf_addc(&m->samples, 1 << 2 | code);
    buf_add(&m->samples, &n, (size_t)width);
    for (size_t i = 0; i < count; i++)
        buf_add(&m->samples, &ids[i], (size_t)m->bytes);
}

void
mds_end(struct mds_out *m)
{
    char *path = xasprintf("%s/index.json", m->path);
    struct buf b = { 0 };
    struct err e;

    flush_shard(m);
    buf_adds(&b, "{\"shards\": [");
    buf_add(&b, m->index.p ? m->index.p : "", m->index.n);
    buf_adds(&b, "], \"version\": 2}");
    if (io_put_file(path, b.p, b.n, &e) < 0)
        die_err(&e);
    free(path);
    buf_release(&b);
    buf_release(&m->index);
    buf_release(&m->sizes);
    buf_release(&m->samples);
    free(m->path);
    free(m);
}
