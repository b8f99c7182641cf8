/* manifest.json: see manifest.h and retort-shard(5) */
#include "shard/manifest.h"
#include "base/io.h"
#include "base/text.h"
#include "shard/dir.h"
#include "format/seekable.h"
#include "shard/index.h"
#include "msg/wire.h"
#include "format/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMAT "retort shard directory"
#define HASH_LINE "  \"hash\": \"" /* 32 digits and HASH_END follow */
#define HASH_END "\"\n}\n"
enum { HASH_BYTES = sizeof HASH_LINE - 1 + 32 + sizeof HASH_END - 1 };

void
manifest_begin(struct manifest *m, const struct stream_info *i)
{
    m->content = xstrdup(i->content);
    m->tokenizer = xstrdup(i->tokenizer);
    m->vocab = i->vocab;
    m->T = i->T;
    m->nsource = i->nsource;
    m->source = xcalloc(i->nsource, sizeof *m->source);
    for (size_t k = 0; k < i->nsource; k++)
        m->source[k].name = xstrdup(i->source[k]);
}

void
manifest_release(struct manifest *m)
{
    for (size_t i = 0; i < m->nsource; i++)
        free(m->source[i].name);
    for (size_t i = 0; i < m->nfile; i++)
        free(m->file[i].name);
    free(m->source);
    free(m->file);
    free(m->content);
    free(m->tokenizer);
    free(m->cursor);
    memset(m, 0, sizeof *m);
}

/* ---- writing ---- */

static void
add_hash(struct buf *b, const struct chain *c)
{
    char hex[33];

    chain_hex(c, hex);
    buf_addf(b, "\"%s\"", hex);
}

static void
add_json_number(struct buf *b, const char *key, uint64_t v)
{
    buf_addf(b, "\"%s\": %" PRIu64, key, v);
}

static void
add_json_file(struct buf *b, const struct shard_file *f)
{
    buf_adds(b, "    {\"name\": ");
    js_quote(b, f->name);
    buf_adds(b, ", ");
    add_json_number(b, "bytes", f->bytes);
    buf_adds(b, ", \"hash\": ");
    add_hash(b, &f->hash);
    buf_adds(b, ",\n     ");
    add_json_number(b, "content_bytes", f->raw);
    buf_adds(b, ", ");
    add_json_number(b, "frames", f->frames);
    buf_adds(b, ", ");
    add_json_number(b, "messages", f->messages);
    buf_adds(b, ", ");
    add_json_number(b, "documents", f->docs);
    buf_adds(b, ", ");
    add_json_number(b, "tokens", f->tokens);
    buf_adds(b, ",\n     ");
    add_json_number(b, "index_bytes", f->index_bytes);
    buf_adds(b, ", \"index_hash\": ");
    add_hash(b, &f->index_hash);
    buf_adds(b, ", \"index_frames_hash\": ");
    add_hash(b, &f->frames_hash);
    buf_adds(b, "}");
}

static void
add_position(struct buf *b, const struct manifest *m)
{
    if (m->nfile == 0) {
        buf_adds(b, "  \"position\": null,\n");
        return;
    }
    buf_adds(b, "  \"position\": {");
    add_json_number(b, "seq", m->seq);
    buf_adds(b, ", \"chain\": ");
    add_hash(b, &m->chain);
    if (m->cursor) {
        buf_adds(b, ", \"cursor\": ");
        js_quote(b, m->cursor);
    }
    buf_adds(b, "},\n");
}

static void
add_fields(struct buf *b, const struct manifest *m)
{
    const struct {
        const char *key;
        uint64_t v;
    } n[] = { { "vocab", m->vocab }, { "T", m->T },
        { "frame_size", m->frame_size }, { "shard_size", m->shard_size },
        { "level", (uint64_t)m->level }, { "messages", m->messages },
        { "documents", m->docs }, { "tokens", m->tokens },
        { "content_bytes", m->raw } };

    buf_addf(b,
        "{\n  \"format\": \"%s\",\n  \"version\": 1,\n"
        "  \"state\": \"%s\",\n  \"content\": \"%s\",\n  \"tokenizer\": ",
        FORMAT, m->complete ? "complete" : "open", m->content);
    js_quote(b, m->tokenizer);
    buf_addf(b, ",\n  \"codec\": \"%s\",\n  \"teacher\": %s,\n",
        codec_names[m->codec], m->teacher ? "true" : "false");
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        buf_adds(b, "  ");
        add_json_number(b, n[i].key, n[i].v);
        buf_adds(b, ",\n");
    }
}

int
manifest_write(struct manifest *m, const char *dir, struct err *e)
{
    struct buf b = { 0 };
    char *path = shard_path(dir, SHARD_MANIFEST), hex[33];
    int r;

    add_fields(&b, m);
    buf_adds(&b, "  \"sources\": [");
    for (size_t i = 0; i < m->nsource; i++) {
        buf_addf(&b, "%s\n    {\"name\": ", i ? "," : "");
        js_quote(&b, m->source[i].name);
        buf_adds(&b, ", ");
        add_json_number(&b, "documents", m->source[i].docs);
        buf_adds(&b, ", ");
        add_json_number(&b, "tokens", m->source[i].tokens);
        buf_adds(&b, "}");
    }
    buf_adds(&b, "\n  ],\n");
    add_position(&b, m);
    buf_adds(&b, "  \"shards\": [");
    for (size_t i = 0; i < m->nfile; i++) {
        buf_adds(&b, i ? ",\n" : "\n");
        add_json_file(&b, &m->file[i]);
    }
    buf_adds(&b, "\n  ],\n");
    chain_of(&m->hash, b.p, b.n);
    chain_hex(&m->hash, hex);
    buf_addf(&b, "%s%s%s", HASH_LINE, hex, HASH_END);
    r = io_put_file(path, b.p, b.n, e);
    free(path);
    buf_release(&b);
    return r;
}

/* ---- reading ---- */

static int
get_number(const json_t *j, const char *key, uint64_t max, uint64_t *r,
    struct err *e)
{
    size_t v = 0;
    const int k = js_size(j, key, 0, max, &v, e);

    *r = v;
    if (k == 0)
        return err_set(e, EX_INPUT, "%s is missing", key);
    return k < 0 ? -1 : 0;
}

static int
get_string(const json_t *j, const char *key, char **r, struct err *e)
{
    const char *s = NULL;
    const int k = js_str(j, key, &s, e);

    if (k == 0)
        return err_set(e, EX_INPUT, "%s is missing", key);
    if (k < 0)
        return -1;
    free(*r);
    *r = xstrdup(s);
    return 0;
}

static int
get_hash(const json_t *j, const char *key, struct chain *c, struct err *e)
{
    char *s = NULL;
    int r = get_string(j, key, &s, e);

    if (r == 0 && chain_parse(c, s) < 0)
        r = err_set(e, EX_INPUT, "%s is no hash", key);
    free(s);
    return r;
}

/* Index in `word`, a list that NULL ends, of the text of member `key`; -1 and
 * *e: the text is none of these words. */
static int
get_word(const json_t *j, const char *key, const char *const *word,
    struct err *e)
{
    char *s = NULL;
    int k = -1;

    if (get_string(j, key, &s, e) < 0)
        return -1;
    for (int i = 0; word[i]; i++)
        if (strcmp(s, word[i]) == 0)
            k = i;
    if (k < 0)
        err_set(e, EX_INPUT, "%s is \"%.40s\"", key, s);
    free(s);
    return k;
}

static int
read_json_sources(struct manifest *m, const json_t *j, struct err *e)
{
    const json_t *a = js_get(j, "sources");
    const size_t n = json_array_size(a);

    if (!json_is_array(a) || n > 65536)
        return err_set(e, EX_INPUT, "sources is no list");
    m->source = xcalloc(n, sizeof *m->source);
    for (m->nsource = 0; m->nsource < n;) {
        struct shard_source *s = &m->source[m->nsource++];
        const json_t *o = json_array_get(a, m->nsource - 1);

        if (get_string(o, "name", &s->name, e) < 0 ||
            get_number(o, "documents", INT64_MAX, &s->docs, e) < 0 ||
            get_number(o, "tokens", INT64_MAX, &s->tokens, e) < 0)
            return err_prefix(e, "source %zu", m->nsource - 1);
    }
    return 0;
}

static int
read_json_file(struct shard_file *f, const json_t *o, size_t least,
    enum codec c, struct err *e)
{
    const uint64_t max = INT64_MAX;
    char want[SHARD_NAME];
    size_t n;

    if (get_string(o, "name", &f->name, e) < 0)
        return -1;
    n = shard_number(f->name, c);
    if (n == SIZE_MAX || n < least) {
        shard_name(want, least, c);
        return err_set(e, EX_INPUT, "name is %.40s, not %s or later", f->name,
            want);
    }
    if (get_number(o, "bytes", max, &f->bytes, e) < 0 ||
        get_hash(o, "hash", &f->hash, e) < 0 ||
        get_number(o, "content_bytes", max, &f->raw, e) < 0 ||
        get_number(o, "frames", SEEK_FRAMES_MAX, &f->frames, e) < 0 ||
        get_number(o, "messages", max, &f->messages, e) < 0 ||
        get_number(o, "documents", max, &f->docs, e) < 0 ||
        get_number(o, "tokens", max, &f->tokens, e) < 0 ||
        get_number(o, "index_bytes", max, &f->index_bytes, e) < 0 ||
        get_hash(o, "index_hash", &f->index_hash, e) < 0)
        return -1;
    return get_hash(o, "index_frames_hash", &f->frames_hash, e);
}

static int
read_json_files(struct manifest *m, const json_t *j, struct err *e)
{
    const json_t *a = js_get(j, "shards");
    const size_t n = json_array_size(a);

    if (!json_is_array(a) || n > SHARD_LIMIT)
        return err_set(e, EX_INPUT, "shards is no list");
    m->file = xcalloc(n, sizeof *m->file);
    for (size_t least = 0; m->nfile < n;) {
        const size_t i = m->nfile++;

        if (read_json_file(&m->file[i], json_array_get(a, i), least, m->codec,
                e) < 0)
            return err_prefix(e, "shard %zu", i);
        least = shard_number(m->file[i].name, m->codec) + 1;
    }
    return 0;
}

static int
read_json_position(struct manifest *m, const json_t *j, struct err *e)
{
    const json_t *p = js_get(j, "position");

    if (m->nfile == 0)
        return 0;
    if (!json_is_object(p))
        return err_set(e, EX_INPUT, "position is missing");
    if (get_number(p, "seq", INT64_MAX, &m->seq, e) < 0 ||
        get_hash(p, "chain", &m->chain, e) < 0)
        return err_prefix(e, "position");
    return js_get(p, "cursor") ? get_string(p, "cursor", &m->cursor, e) : 0;
}

static int
read_json_fields(struct manifest *m, const json_t *j, struct err *e)
{
    static const char *const states[] = { "open", "complete", NULL };
    static const char *const contents[] = { "docs", "batch", "", NULL };
    static const char *const formats[] = { FORMAT, NULL };
    uint64_t version, vocab, T, level;
    int k;

    if (get_word(j, "format", formats, e) < 0 ||
        get_number(j, "version", INT64_MAX, &version, e) < 0)
        return -1;
    if (version != 1)
        return err_set(e, EX_INPUT,
            "version %" PRIu64 ", but this program reads version 1", version);
    if ((k = get_word(j, "state", states, e)) < 0)
        return -1;
    m->complete = k == 1;
    if (get_word(j, "content", contents, e) < 0 ||
        get_string(j, "content", &m->content, e) < 0 ||
        get_string(j, "tokenizer", &m->tokenizer, e) < 0 ||
        (k = get_word(j, "codec", codec_names, e)) < 0)
        return -1;
    m->codec = (enum codec)k;
    if (get_number(j, "vocab", (uint64_t)1 << 32, &vocab, e) < 0 ||
        get_number(j, "T", UINT32_MAX, &T, e) < 0 ||
        get_number(j, "level", 100, &level, e) < 0 ||
        get_number(j, "frame_size", INT64_MAX, &m->frame_size, e) < 0 ||
        get_number(j, "shard_size", INT64_MAX, &m->shard_size, e) < 0 ||
        get_number(j, "messages", INT64_MAX, &m->messages, e) < 0 ||
        get_number(j, "documents", INT64_MAX, &m->docs, e) < 0 ||
        get_number(j, "tokens", INT64_MAX, &m->tokens, e) < 0 ||
        get_number(j, "content_bytes", INT64_MAX, &m->raw, e) < 0)
        return -1;
    m->vocab = (size_t)vocab;
    m->T = (size_t)T;
    m->level = (int)level;
    if (js_bool(j, "teacher", &m->teacher, e) <= 0)
        return err_set(e, EX_INPUT, "teacher is neither true nor false");
    if (read_json_sources(m, j, e) < 0 || read_json_files(m, j, e) < 0)
        return -1;
    return read_json_position(m, j, e);
}

/* Check the last line: it has the hash of all lines before it. */
static int
check_manifest_hash(struct manifest *m, const char *p, size_t n, struct err *e)
{
    const char *line = p + n - HASH_BYTES;
    char hex[33] = "", have[33];

    if (n < HASH_BYTES || memcmp(line, HASH_LINE, sizeof HASH_LINE - 1) != 0 ||
        memcmp(p + n - (sizeof HASH_END - 1), HASH_END, sizeof HASH_END - 1) !=
            0)
        return err_set(e, EX_INPUT,
            "offset %zu: the last line is not its hash: cut off or edited", n);
    memcpy(hex, line + sizeof HASH_LINE - 1, 32);
    chain_of(&m->hash, p, n - HASH_BYTES);
    chain_hex(&m->hash, have);
    if (strcmp(hex, have) != 0)
        return err_set(e, EX_INPUT,
            "offset %zu: its hash is %s, but its content has %s: damaged or "
            "edited",
            n - HASH_BYTES, hex, have);
    return 0;
}

/* Check that the shards' counts add up to the directory's, without overflow. */
static int
check_sums(const struct manifest *m, struct err *e)
{
    size_t sum[4] = { 0 };

    for (size_t i = 0; i < m->nfile; i++) {
        const struct shard_file *f = &m->file[i];

        if (size_add(sum[0], f->messages, &sum[0]) < 0 ||
            size_add(sum[1], f->docs, &sum[1]) < 0 ||
            size_add(sum[2], f->tokens, &sum[2]) < 0 ||
            size_add(sum[3], f->raw, &sum[3]) < 0)
            return err_set(e, EX_INPUT, "shard %zu: the sums are too large", i);
    }
    if (sum[0] != m->messages || sum[1] != m->docs || sum[2] != m->tokens ||
        sum[3] != m->raw)
        return err_set(e, EX_INPUT, "the sums are not those of the shards");
    return 0;
}

int
manifest_is_ours(const char *dir, struct err *e)
{
    static const char begin[] = "{\n  \"format\": \"" FORMAT "\"";
    char *path = shard_path(dir, SHARD_MANIFEST), have[sizeof begin - 1];
    uint64_t size;
    const int fd = io_open_file(path, &size, e);
    int r = -1;

    if (fd < 0 && !io_exists(path)) {
        r = 0;
    } else if (fd >= 0) {
        const ptrdiff_t n = io_read(fd, have, sizeof have);

        if (n < 0)
            err_set(e, EX_SYS, "%s:", path);
        else
            r = (size_t)n == sizeof have &&
                memcmp(have, begin, sizeof have) == 0;
        close(fd);
    }
    free(path);
    return r;
}

/* Is the file text, by its first bytes? */
static int
is_text_file(const char *path)
{
    char p[512];
    FILE *f = fopen(path, "rb");
    const size_t n = f != NULL ? fread(p, 1, sizeof p, f) : 0;

    if (f != NULL)
        fclose(f);
    return n > 0 && text_is_plain(p, n);
}

int
manifest_read(struct manifest *m, const char *dir, struct err *e)
{
    char *path = shard_path(dir, SHARD_MANIFEST), *p = NULL;
    size_t n;
    json_t *j;
    int r;

    memset(m, 0, sizeof *m);
    r = io_slurp(path, JS_MAX, &p, &n, e);
    if (r < 0) {
        if (io_is_dir(dir) && !io_exists(path))
            err_set(e, EX_INPUT,
                "%s: no shard directory: %s is missing; of text, tokenize -t "
                "MODEL %s | shard write -o DATA makes one",
                dir, SHARD_MANIFEST, dir);
        else if (is_text_file(dir))
            err_set(e, EX_USAGE,
                "%s: is text, no shard directory: tokenize -t MODEL %s | shard "
                "write -o DATA makes one",
                dir, dir);
        else if (io_exists(dir) && !io_is_dir(dir))
            err_set(e, EX_USAGE,
                "%s: is a file, no shard directory; store a stream with shard "
                "write -o, and name the directory",
                dir);
        free(path);
        return -1;
    }
    r = check_manifest_hash(m, p, n, e);
    if (r == 0) {
        j = js_parse(p, n, e);
        r = j ? read_json_fields(m, j, e) : -1;
        json_decref(j);
    }
    if (r == 0)
        r = check_sums(m, e);
    if (r < 0) {
        err_prefix(e, "%s", path);
        if (e)
            e->code = EX_INPUT;
        manifest_release(m);
    }
    free(path);
    free(p);
    return r;
}
