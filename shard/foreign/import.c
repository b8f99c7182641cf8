/* shard import - store files of other formats; see shard-import(1) */
#include "import.h"
#include "base/bytes.h"
#include "base/err.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "msg/wire.h"
#include "shard/make.h"
#include "tok/tok.h"
#include "../store.h"
#include "foreign.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE = 1 << 20, DOCS_MAX = 1 << 16 }; /* as tokenize cuts them */

const char *const foreign_names[] = { "megatron", "llmc", "datatrove", "npy",
    "mds", NULL };

struct import_opts {
    int format;            /* enum foreign */
    const char *tokenizer; /* or NULL: */
    size_t vocab;
    const char *bos, *eos; /* id or "none"; NULL: not said */
    const char *source;    /* name for all inputs, or NULL */
};

static struct store_args a = STORE_DEFAULT;
static struct import_opts given;

static const struct opt options[] = { STORE_OPTIONS(a),
    OPT_STR('t', "tokenizer", &given.tokenizer, "tokenizer",
        "tokenizer.json, model directory or .gguf"),
    OPT_SIZE(0, "vocab", &given.vocab, 1, 0x1p32, "n",
        "entries of the vocabulary (0: what -t says)"),
    OPT_STR(0, "bos-id", &given.bos, "id",
        "id that documents begin with, or none"),
    OPT_STR(0, "eos-id", &given.eos, "id",
        "id that documents end with, or none"),
    OPT_STR(0, "source", &given.source, "name",
        "source of the documents (default: the file's name)"),
    OPT_END };

struct sink {
    const struct import_opts *o;
    struct stream_info info;
    char hash[33];
    int64_t tok_bos, tok_eos; /* the tokenizer's, or -1 */
    struct split cut;         /* where files without bounds are cut */
    struct shard_make *k;     /* NULL before the first document */
    const char *dir;
    const struct shard_opts *so;
    const char *input; /* being read, and its source */
    uint16_t source_id;
    uint64_t record, docs, empty;
    /* The message being filled; ids in the width of the stream. */
    int wide, masked;
    struct buf ids, len, source, key, mask;
};

int
foreign_format(const char *name)
{
    for (int i = 0; foreign_names[i] != NULL; i++)
        if (strcmp(foreign_names[i], name) == 0)
            return i;
    die(EX_USAGE,
        "%s: is no format; give megatron, llmc, datatrove, npy or mds", name);
}

size_t
id_size(enum id_type t)
{
    static const size_t size[] = { 1, 1, 2, 2, 4, 4, 8, 8, 0 };

    return size[t];
}

enum id_type
id_type_of(const char *name, size_t n)
{
    static const char *const names[] = { "uint8", "int8", "uint16", "int16",
        "uint32", "int32", "uint64", "int64" };

    for (int t = 0; t < ID_NONE; t++)
        if (strlen(names[t]) == n && memcmp(names[t], name, n) == 0)
            return (enum id_type)t;
    return ID_NONE;
}

size_t
sink_vocab(const struct sink *s)
{
    return s->info.vocab;
}

/* Id i, unchecked, as a signed number; one that does not fit is negative. */
static int64_t
id_at(const struct ids_view *v, size_t i)
{
    const size_t size = id_size(v->type);
    const uint64_t u = le_get(v->p + size * i, size);

    switch (v->type) {
    case ID_I8: return (int8_t)u;
    case ID_I16: return (int16_t)u;
    case ID_I32: return (int32_t)u;
    default: return (int64_t)u;
    }
}

/* Send the `stream` message.  Unless the user said so, the first document shows
 * whether documents have BOS and EOS. */
static void
begin(struct sink *s, const struct ids_view *v, size_t from, size_t n)
{
    struct err e;

    s->info.bos = s->cut.bos;
    s->info.eos = s->cut.eos;
    if (!s->o->bos && !s->o->eos && s->cut.bos < 0 && s->cut.eos < 0) {
        if (s->tok_bos >= 0 && id_at(v, from) == s->tok_bos)
            s->info.bos = s->tok_bos;
        if (s->tok_eos >= 0 && id_at(v, from + n - 1) == s->tok_eos)
            s->info.eos = s->tok_eos;
    }
    s->k = shardmk_open(s->dir, s->so, &e);
    if (!s->k)
        die_err(&e);
    stream_info_put(shardmk_begin(s->k, MSG_STREAM), &s->info);
    if (shardmk_send(s->k, &e) < 0)
        die_err(&e);
}

static void
flush(struct sink *s)
{
    const size_t n = s->ids.n / (s->wide ? 4 : 2);
    const size_t docs = s->len.n / sizeof(uint32_t);
    struct st_out *o;
    struct err e;

    if (docs == 0)
        return;
    o = shardmk_begin(s->k, MSG_DOCS);
    st_out_tensor(o, "doc_key", DT_U64, 1, &docs, s->key.p);
    st_out_tensor(o, "ids", s->wide ? DT_U32 : DT_U16, 1, &n, s->ids.p);
    st_out_tensor(o, "doc_len", DT_U32, 1, &docs, s->len.p);
    st_out_tensor(o, "doc_source", DT_U16, 1, &docs, s->source.p);
    if (s->masked)
        st_out_tensor(o, "loss_mask", DT_U8, 1, &n, s->mask.p);
    if (shardmk_send(s->k, &e) < 0)
        die_err(&e);
    buf_clear(&s->ids);
    buf_clear(&s->len);
    buf_clear(&s->source);
    buf_clear(&s->key);
    buf_clear(&s->mask);
    s->masked = 0;
}

static void
add_ids(struct sink *s, const struct ids_view *v, size_t from, size_t n)
{
    for (size_t i = from; i < from + n; i++) {
        const int64_t id = id_at(v, i);
        const uint32_t w = (uint32_t)id;
        const uint16_t h = (uint16_t)id;

        if (id < 0 || (uint64_t)id >= s->info.vocab)
            die(EX_INPUT,
                "%s: offset %" PRIu64 ": id %" PRId64
                ", but the vocabulary ends at %zu",
                v->file, v->at + (uint64_t)(i * id_size(v->type)), id,
                s->info.vocab);
        if (s->wide)
            buf_add(&s->ids, &w, sizeof w);
        else
            buf_add(&s->ids, &h, sizeof h);
    }
}

void
sink_doc(struct sink *s, const struct ids_view *v, size_t from, size_t n,
    const unsigned char *mask)
{
    const size_t width = s->wide ? 4 : 2, had = s->ids.n / width;
    const uint32_t len = (uint32_t)n;
    uint64_t key;

    if (stop_asked)
        die(EX_STOP, "%s: interrupted", s->dir);
    if (n == 0) {
        s->empty++;
        s->record++;
        return;
    }
    if (n > (size_t)1 << 30)
        die(EX_INPUT,
            "%s: offset %" PRIu64 ": a document of %zu tokens; at most 2^30 "
            "are read (is it to be cut at an --eos-id?)",
            v->file, v->at + (uint64_t)(from * id_size(v->type)), n);
    if (!s->k)
        begin(s, v, from, n);
    if (s->ids.n &&
        (s->ids.n + n * width > MESSAGE || s->len.n / sizeof len == DOCS_MAX)) {
        flush(s);
        sink_doc(s, v, from, n, mask);
        return;
    }
    add_ids(s, v, from, n);
    if (mask && !s->masked) {
        buf_reserve(&s->mask, had);
        memset(s->mask.p, 1, had);
        s->mask.n = had;
        s->masked = 1;
    }
    for (size_t i = 0; s->masked && i < n; i++)
        buf_addc(&s->mask, mask ? mask[i] != 0 : 1);
    key = msg_doc_key(s->info.source[s->source_id], s->input, s->record);
    buf_add(&s->len, &len, sizeof len);
    buf_add(&s->source, &s->source_id, sizeof s->source_id);
    buf_add(&s->key, &key, sizeof key);
    s->record++;
    s->docs++;
    progress_at((double)s->docs, NULL);
}

void
sink_split(struct sink *s, const struct ids_view *v)
{
    size_t begin_at = 0;

    /* The file does not begin with the end-of-text token, as llm.c's do: take
     * it as the end of documents. */
    if (s->o->format == FOREIGN_LLMC && !s->o->bos && !s->o->eos && v->n &&
        s->cut.bos >= 0 && id_at(v, 0) != s->cut.bos) {
        s->cut.bos = -1;
        s->cut.eos = s->tok_eos;
    }
    for (size_t i = 0; i < v->n; i++) {
        const int64_t id = id_at(v, i);

        if (s->cut.eos >= 0 ? id == s->cut.eos
                            : i + 1 < v->n && s->cut.bos >= 0 &&
                    id_at(v, i + 1) == s->cut.bos) {
            sink_doc(s, v, begin_at, i + 1 - begin_at, NULL);
            begin_at = i + 1;
        }
    }
    if (begin_at < v->n)
        sink_doc(s, v, begin_at, v->n - begin_at, NULL);
}

/* "none", or an id below the vocabulary. */
static int64_t
parse_id(const char *option, const char *s, size_t vocab)
{
    char *end;
    unsigned long long v;

    if (!s || strcmp(s, "none") == 0)
        return -1;
    v = strtoull(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || v >= vocab)
        die(EX_USAGE, "%s: \"%s\" is no id below %zu", option, s, vocab);
    return (int64_t)v;
}

/* The last part of a path without its suffix. */
static char *
source_name(const char *path)
{
    char *copy = xstrdup(path), *name;
    size_t n = strlen(copy);

    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = '\0';
    name = strrchr(copy, '/') ? strrchr(copy, '/') + 1 : copy;
    name = xstrdup(*name ? name : "import");
    if (strrchr(name, '.') && strrchr(name, '.') != name)
        *strrchr(name, '.') = '\0';
    free(copy);
    return name;
}

static size_t
add_source(struct sink *s, const char *name)
{
    for (size_t i = 0; i < s->info.nsource; i++)
        if (strcmp(s->info.source[i], name) == 0)
            return i;
    if (s->info.nsource == 65536)
        die(EX_USAGE, "more than 65536 sources");
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20)
            die(EX_USAGE, "a control byte in the name of a source");
    s->info.source = xreallocarray(s->info.source, s->info.nsource + 1,
        sizeof *s->info.source);
    s->info.source[s->info.nsource] = name;
    return s->info.nsource++;
}

static void
set_tokenizer(struct sink *s)
{
    struct tokenizer *t;
    struct err e;

    memset(s->hash, '0', 32);
    s->tok_bos = s->tok_eos = -1;
    s->info.vocab = s->o->vocab;
    if (s->o->tokenizer) {
        t = tok_open(s->o->tokenizer, &e);
        if (!t)
            die_err(&e);
        s->info.vocab = tok_vocab(t);
        s->tok_bos = tok_bos(t);
        s->tok_eos = tok_eos(t);
        tok_hash(t, s->hash);
        tok_free(t);
    }
    s->info.content = "docs";
    s->info.tokenizer = s->hash;
    s->wide = s->info.vocab > 65536;
    s->cut.bos = parse_id("--bos-id", s->o->bos, s->info.vocab);
    s->cut.eos = parse_id("--eos-id", s->o->eos, s->info.vocab);
    if (s->o->bos || s->o->eos)
        return;
    /* llm.c begins documents with its end-of-text token. */
    if (s->o->format == FOREIGN_LLMC)
        s->cut.bos = s->tok_bos >= 0 ? s->tok_bos : s->tok_eos;
    if (s->o->format == FOREIGN_NPY)
        s->cut.eos = s->tok_eos;
}

static void
import_files(char **in, const char *dir, const struct import_opts *o,
    const struct shard_opts *so)
{
    static void (*const reader[])(struct sink *,
        const char *) = { read_megatron, read_llmc, read_datatrove, read_npy,
        read_mds };
    struct sink s = { .o = o, .dir = dir, .so = so };
    const struct manifest *m;
    struct err e;
    char **name;
    size_t n = 0;

    while (in[n])
        n++;
    set_tokenizer(&s);
    name = xcalloc(n, sizeof *name);
    for (size_t i = 0; i < n; i++) {
        name[i] = o->source ? xstrdup(o->source) : source_name(in[i]);
        add_source(&s, name[i]);
    }
    prog_catch_stop();
    progress_begin("imported", 0, "documents");
    for (size_t i = 0; i < n; i++) {
        s.input = in[i];
        s.source_id = (uint16_t)add_source(&s, name[i]);
        s.record = 0;
        reader[o->format](&s, in[i]);
    }
    if (!s.k)
        die(EX_INPUT, "%s: no document", in[0]);
    flush(&s);
    progress_end();
    if (shardmk_end(s.k, &e) < 0)
        die_err(&e);
    m = shardmk_manifest(s.k);
    if (s.empty)
        note("%" PRIu64 " empty documents are left out", s.empty);
    prog_closing("%" PRIu64 " documents, %" PRIu64 " tokens, %zu shards",
        m->docs, m->tokens, m->nfile);
    shardmk_close(s.k);
    for (size_t i = 0; i < n; i++)
        free(name[i]);
    free(name);
    free(s.info.source);
    buf_release(&s.ids);
    buf_release(&s.len);
    buf_release(&s.source);
    buf_release(&s.key);
    buf_release(&s.mask);
}

int
import_main(int argc, char **argv)
{
    int n;
    char **in = opt_parse(argc, argv, options,
        "store token files of other projects in a directory", "format file ...",
        2, -1, &n);

    given.format = foreign_format(in[0]);
    if (a.out == NULL)
        die(EX_USAGE, "name the directory to write: -o dir");
    if (!given.tokenizer == !given.vocab)
        die(EX_USAGE, "whose ids are they? Give either -t or --vocab");
    store_check(&a);
    import_files(in + 1, a.out, &given, &a.o);
    return EX_OK;
}
