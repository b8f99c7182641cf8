/* shard import - store files of other formats; see shard-import(1) */
#include "import.h"
#include "base/err.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "tok/tok.h"
#include "../store.h"
#include "format.h"
#include "mds.h"
#include "read.h"
#include "sink.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct import_opts {
    int format;            /* enum foreign */
    const char *tokenizer; /* NULL: --vocab is given */
    size_t vocab;
    const char *bos, *eos; /* an id, or "none"; NULL: not given */
    const char *source;    /* name for all inputs; NULL: their own */
};

static struct store_args a = STORE_DEFAULT;
static struct import_opts given;

static const struct opt options[] = { STORE_OPTIONS(a),
    OPT_TOKENIZER(&given.tokenizer, ""),
    OPT_SIZE(0, "vocab", &given.vocab, 0, 0x1p32, "n",
        "entries of the vocabulary (0: what -t says)"),
    OPT_STR(0, "bos-id", &given.bos, "id",
        "id that documents begin with, or none"),
    OPT_STR(0, "eos-id", &given.eos, "id",
        "id that documents end with, or none"),
    OPT_STR(0, "source", &given.source, "name",
        "source of the documents (default: the file's name)"),
    OPT_END };

/* Parse an id below the vocabulary.  -1: s is "none" or NULL. */
static int64_t
parse_id(const char *option, const char *s, size_t vocab)
{
    char *end;
    unsigned long long v;

    if (!s || strcmp(s, "none") == 0)
        return -1;
    v = strtoull(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || v >= vocab)
        die(EX_USAGE, "%s: \"%s\" is no id: give none or a number below %zu",
            option, s, vocab);
    return (int64_t)v;
}

/* The last part of a path without its suffix; malloc'd. */
static char *
name_of_path(const char *path)
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
        die(EX_USAGE, "the files are more than 65536 sources: give --source");
    for (const char *p = name; *p; p++)
        if ((unsigned char)*p < 0x20)
            die(EX_USAGE,
                "a name of a source holds a control byte: give --source");
    s->info.source = xreallocarray(s->info.source, s->info.nsource + 1,
        sizeof *s->info.source);
    s->info.source[s->info.nsource] = name;
    return s->info.nsource++;
}

/* Set info, cut and tok of s from the options.  hash [33] gets the tokenizer's
 * hash; info points to it. */
static void
set_tokenizer(struct sink *s, char *hash, const struct import_opts *o)
{
    struct tokenizer *t;
    struct err e;

    memset(hash, '0', 32);
    s->tok = (struct split){ -1, -1 };
    s->guess = !o->bos && !o->eos;
    s->info.vocab = o->vocab;
    if (o->tokenizer) {
        t = tok_open(o->tokenizer, &e);
        if (!t)
            die_err(&e);
        s->info.vocab = tok_vocab(t);
        s->tok = (struct split){ tok_bos(t), tok_eos(t) };
        tok_hash(t, hash);
        tok_free(t);
    }
    s->info.content = "docs";
    s->info.tokenizer = hash;
    s->wide = s->info.vocab > 65536;
    s->cut.bos = parse_id("--bos-id", o->bos, s->info.vocab);
    s->cut.eos = parse_id("--eos-id", o->eos, s->info.vocab);
    /* in llm.c documents begin with the end-of-text token */
    if (s->guess && o->format == FOREIGN_LLMC)
        s->cut.bos = s->tok.bos >= 0 ? s->tok.bos : s->tok.eos;
    if (s->guess && o->format == FOREIGN_NPY)
        s->cut.eos = s->tok.eos;
}

static void
import_files(char **in, const char *dir, const struct import_opts *o,
    const struct shard_opts *so)
{
    static void (*const reader[])(struct sink *,
        const char *) = { read_megatron, read_llmc, read_datatrove, read_npy,
        read_mds };
    struct sink s = { .dir = dir, .so = so };
    char hash[33] = "";
    const struct manifest *m;
    char **name;
    size_t n = 0;

    while (in[n])
        n++;
    set_tokenizer(&s, hash, o);
    name = xcalloc(n, sizeof *name);
    for (size_t i = 0; i < n; i++) {
        name[i] = o->source ? xstrdup(o->source) : name_of_path(in[i]);
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
    sink_end(&s);
    progress_end();
    m = shardmk_manifest(s.k);
    if (s.empty)
        note("%" PRIu64 " empty documents are left out", s.empty);
    prog_closing("%" PRIu64 " documents, %" PRIu64 " tokens, %zu shards",
        m->docs, m->tokens, m->nfile);
    sink_release(&s);
    for (size_t i = 0; i < n; i++)
        free(name[i]);
    free(name);
    free(s.info.source);
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
