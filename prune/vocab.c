/* prune vocab - cut a model's vocabulary; see prune-vocab(1) */
#include "commands.h"
#include "input.h"
#include "write.h"
#include "cut_model.h"
#include "format/gguf_file.h"
#include "model/files/export.h"
#include "model/files/export_gguf.h"
#include "model/files/tokfile.h"
#include "vocab_files.h"
#include "vocab_mass.h"
#include "base/dir.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/setup.h"

#include <stdlib.h>
#include <string.h>

static struct {
    const char *model, *out, *tokenizer, *keep, *held_out, *report;
    size_t size, threads;
    int type, gguf; /* gguf: the output is a GGUF file */
} a;

static const struct opt options[] = { OPT_MODEL(&a.model, "the model to cut"),
    PRUNE_OUT(&a.out), OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL),
    OPT_GROUP("what is kept"),
    OPT_SIZE(0, "size", &a.size, 0, 1 << 24, "ids",
        "number of ids to keep (0: as many as are used)"),
    OPT_STR(0, "keep-ids", &a.keep, "file",
        "keep the ids listed in this file, instead of those that a corpus "
        "uses"),
    OPT_GROUP("report"),
    OPT_STR(0, "held-out", &a.held_out, "input",
        "documents to measure on, which nothing is trained on"),
    PRUNE_REPORT(&a.report), OPT_GROUP("run"), OPT_DTYPE(&a.type, write_types),
    OPT_THREADS(&a.threads), OPT_END };

/* Open the tokenizer, without the tokens for which the model has no row. */
static struct tokenizer *
open_tokenizer(const struct model *m)
{
    struct buf past = { 0 };
    struct tokenizer *t;
    struct err e;

    if (a.tokenizer == NULL)
        a.tokenizer = a.model;
    if ((t = tok_open(a.tokenizer, &e)) == NULL ||
        tok_fit(t, a.tokenizer, m->c.V, &past, &e) < 0)
        die_err(&e);
    if (past.n > 0)
        warn("%s: left out, as the model ends at %zu ids: %s", a.tokenizer,
            m->c.V, past.p);
    buf_release(&past);
    return t;
}

static struct dir_new tmp; /* folder for the tokenizer's files */

/* Export the tokenizer's files to a temporary folder beside the output, where
 * they will be cut.  The model's configuration goes with them: its ids tell
 * which texts are special. */
static void
export_files(const struct model *m)
{
    char *path = xasprintf("%s.tokenizer", a.out), *config;
    struct err e;

    if (dir_new_begin(&tmp, path, &e) < 0)
        die_err(&e);
    config = xasprintf("%s/config.json", tmp.tmp);
    if (model_write_config(m, config, &e) < 0 ||
        tokenizer_export(a.tokenizer, tmp.tmp, &e) < 0)
        die_err(&e);
    free(config);
    free(path);
}

/* Keep the ids that the model's configuration and the files name. */
static void
keep_named(struct vocab *v, const struct model *m,
    const struct vocab_files *files)
{
    const struct config *c = &m->c;

    vocab_must(v, c->bos, WHY_NAMED);
    vocab_must(v, c->pad, WHY_NAMED);
    for (size_t i = 0; i < c->neos; i++)
        vocab_must(v, c->eos[i], WHY_NAMED);
    vocab_files_named(files, v);
}

static void
choose_ids(struct vocab *v)
{
    struct err e;

    if (vocab_choose(v, a.size, a.keep == NULL, &e) < 0)
        die_err(&e);
    if (v->left > 0)
        warn("%zu ids that are used have no room in --size %zu: they are "
             "%.4g %% of the input's %llu tokens",
            v->left, a.size, 100.0 * (double)v->left_uses / (double)v->total,
            (unsigned long long)v->total);
    if (v->kept < a.size)
        note("%zu ids are kept, not %zu: no others can be", v->kept, a.size);
    vocab_number(v);
}

/* Write the cut tokenizer to files' folder, then everything to the output. */
static void
write_vocab(const struct vocab *v, struct vocab_files *files,
    const struct model *small)
{
    struct err e;

    if (vocab_files_cut(files, v, &e) < 0 ||
        vocab_files_check(v, files->dir, &e) < 0)
        die(e.code, "%s: %s", a.tokenizer, e.msg);
    if (!a.gguf)
        write_model(small, a.out, a.type, files->dir, "prune vocab", options,
            NULL);
    else if (model_export_gguf(small, a.out, &(struct gguf_how){ 0 },
                 files->dir, &e) < 0)
        die_err(&e);
}

static void
print_vocab(const struct vocab *v, const struct model *m,
    const struct model *small, struct pool *pool)
{
    struct buf b = { 0 };

    note("%zu of %zu ids, %zu of %zu parameters", v->kept, m->c.V,
        model_params(small), model_params(m));
    if (a.report != NULL) {
        vocab_tsv(v, &b);
        out_file(a.report, b.p, b.n);
    }
    if (a.held_out != NULL) {
        buf_clear(&b);
        vocab_mass(v, m, small, a.held_out, a.tokenizer, pool, &b);
        out_put(b.p, b.n);
    }
    buf_release(&b);
    prog_closing("%zu of %zu ids", v->kept, m->c.V);
}

int
vocab_main(int argc, char **argv)
{
    struct vocab_files files;
    struct tokenizer *t;
    struct arena mem;
    struct model m, small;
    struct vocab v;
    struct pool *pool;
    char **input;
    struct err e;

    input = opt_parse(argc, argv, options,
        "cut a model's vocabulary down to what a corpus uses", "[input]", 0, 1,
        NULL);
    if (a.keep != NULL && *input != NULL)
        die(EX_USAGE, "%s: is not read with --keep-ids", *input);
    a.gguf = a.out != NULL && gguf_is_name(a.out);
    if (a.gguf && a.type != 0)
        die(EX_USAGE,
            "%s: matrices of a GGUF keep their types: leave --dtype out",
            a.out);
    write_check_folder(a.out, a.report);
    setup_kernels(0);
    pool = setup_pool(a.threads);
    input_model(&m, a.model);
    t = open_tokenizer(&m);
    vocab_init(&v, t, m.c.V);
    if (a.keep != NULL)
        vocab_list(&v, a.keep);
    else
        vocab_count(&v, *input, a.tokenizer);
    export_files(&m);
    if (vocab_files_open(&files, tmp.tmp, &e) < 0)
        die(e.code, "%s: %s", a.tokenizer, e.msg);
    keep_named(&v, &m, &files);
    choose_ids(&v);
    model_cut_rows(&small, &m, v.from, v.kept, &mem);
    write_vocab(&v, &files, &small);
    vocab_files_release(&files);
    dir_new_abort(&tmp);
    print_vocab(&v, &m, &small, pool);
    out_done();
    vocab_release(&v);
    tok_free(t);
    model_cut_free(&small, &mem);
    model_close(&m);
    pool_free(pool);
    return 0;
}
