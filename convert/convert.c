/* convert - write a model as a Hugging Face directory or a GGUF file; see
 * convert(1) */
#include "merge.h"
#include "adapter_out.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/hub.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "cli/setup.h"
#include "cli/shared.h"
#include "cli/sub.h"
#include "model/files/adapter_file.h"
#include "model/files/compressed.h"
#include "model/files/export.h"
#include "model/files/export_gguf.h"
#include "model/files/model.h"
#include "model/files/tokfile.h"
#include "model/files/weights_out.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *names[32]; /* values of --dtype; ends with NULL */
static int type, compressed;
static size_t most = WEIGHTS_SHARD;
static size_t threads;
static const char *imatrix, *adapter;
static int into_weights;

static const struct opt options[] = { OPT_ADAPTER(&adapter),
    OPT_FLAG(0, "into-weights", &into_weights,
        "write the model with the adapter merged into its weights, not the "
        "adapter"),
    OPT_FLAG(0, "compressed", &compressed,
        "store 2:4 sparse matrices without their zeros"),
    OPT_DTYPE(&type, names),
    OPT_STR(0, "imatrix", &imatrix, "path",
        "importance of the weights: a profile, or a file of llama-imatrix"),
    OPT_SIZE(0, "shard-size", &most, 1, 0x1p50, "bytes",
        "begin another file at this size"),
    OPT_THREADS(&threads), OPT_END };

static void
written(size_t n)
{
    static double all;

    progress_at(all += (double)n, NULL);
}

/* Check the tokenizer against the model, and warn of tokens whose ids are V or
 * more.  A directory gets the files unchanged; a GGUF leaves these tokens out.
 * A tokenizer that tokenize refuses is an error, unless its files are only
 * copied. */
static void
check_source_tokenizer(const char *in, size_t V, int gguf)
{
    struct buf past = { 0 };
    struct err e;
    struct tokenizer *t = tok_open(in, &e);

    if (t == NULL && gguf != !io_is_dir(in))
        die_err(&e);
    if (t == NULL) {
        warn("%s (its files are only copied)", e.msg);
        return;
    }
    if (tok_fit(t, in, V, &past, &e) < 0)
        die_err(&e);
    if (past.n > 0)
        warn("%s: the model ends at %zu ids, so %s: %s", in, V,
            gguf ? "these tokens are left out"
                 : "to these programs these tokens are text",
            past.p);
    buf_release(&past);
    tok_free(t);
}

/* Write a directory and its model card. */
static int
write_directory(const struct model *m, const char *out, enum dtype as,
    const char *tok_from, struct err *e)
{
    char *by = xasprintf("convert %s of retort", prog_version());
    struct buf changes = { 0 };
    struct card card = { .by = by, .from = m->path };
    int r;

    opt_changes(&changes, options, (const char *const[]){ "threads", NULL });
    card.options = changes.p;
    r = model_export(m, out, as, tok_from,
        &(struct export){ .most = most, .card = &card }, e);
    buf_release(&changes);
    free(by);
    return r;
}

static const struct sub commands[] = {
    { "merge", merge_main, "merge models of one shape into one" },
    { 0 },
};

static char **
read_options(int argc, char **argv)
{
    for (size_t i = 0; mixture_at(i) != NULL; i++)
        names[i] = mixture_at(i)->name;
    return opt_parse(argc, argv, options,
        sub_about("write a model as a Hugging Face directory or a GGUF file",
            commands),
        "model output", 2, 2, NULL);
}

/* Refuse options that do not go with an output of this kind. */
static void
check_options(const char *out, int gguf, enum dtype as)
{
    if (!gguf && as >= DT_Q8_0)
        die(EX_USAGE, "%s: %s is for GGUF files, whose names end in .gguf", out,
            names[type]);
    if (gguf && compressed)
        die(EX_USAGE,
            "%s: --compressed writes a directory, whose name does not end in "
            ".gguf",
            out);
    if (gguf && most != WEIGHTS_SHARD)
        die(EX_USAGE, "%s: a GGUF is one file: leave --shard-size out", out);
    if (into_weights && adapter == NULL)
        die(EX_USAGE, "--into-weights merges an adapter: give --adapter too");
    if (adapter != NULL && !into_weights && !gguf)
        die(EX_USAGE,
            "%s: a directory would hold the adapter as it is: name a .gguf "
            "file, or give --into-weights",
            out);
    if (adapter != NULL && !into_weights && (type != 0 || imatrix != NULL))
        die(EX_USAGE,
            "--%s is for weights, and an adapter's GGUF is in f32: leave it "
            "out, or give --into-weights",
            type != 0 ? "dtype" : "imatrix");
    if (imatrix != NULL && as <= DT_Q8_0)
        die(EX_USAGE,
            "--imatrix: %s does not use it; give a --dtype of fewer bits, such "
            "as q4_k_m",
            names[type]);
    if (gguf ? io_is_dir(out) : io_exists(out))
        die(EX_USAGE, "%s: exists already; name another output", out);
}

static void
write_gguf(const struct model *m, const char *out, const struct mixture *x,
    const char *tok_from)
{
    struct gguf_how how = { .mixture = x };
    struct importance *importance = NULL;
    struct err e;

    how.pool = setup_pool(threads);
    if (imatrix != NULL &&
        (importance = importance_open(imatrix, m, &e)) == NULL)
        die_err(&e);
    how.importance = importance;
    if (model_export_gguf(m, out, &how, tok_from, &e) < 0)
        die_err(&e);
    importance_free(importance);
    pool_free(how.pool);
}

/* Merge the adapter into m's weights, in memory of `room`. */
static void
merge_adapter(struct model *m, struct arena *room)
{
    struct pool *pool = setup_pool(threads);

    if (adapter_merge(m->adapter, m, pool, room))
        note("%s: changes the embedding, but not the head that was tied to it: "
             "the model gets a head of its own",
            adapter);
    pool_free(pool);
}

/* Write the adapter alone. */
static int
write_adapter(struct model *m, const char *out)
{
    struct err e;

    if (adapter_export_gguf(m->adapter, m, out, &e) < 0)
        die(e.code, "%s: %s", adapter, e.msg);
    prog_closing("%zu numbers of an adapter as f32",
        adapter_params(m->adapter));
    model_close(m);
    return 0;
}

/* Write the model path[0], or its adapter, as path[1]. */
static int
convert_model(char **path)
{
    const char *in = hub_path(path[0]), *out = path[1];
    const size_t n = strlen(out);
    const int gguf = n > 5 && strcmp(out + n - 5, ".gguf") == 0;
    const struct mixture *x = mixture_at((size_t)type);
    struct arena room = { 0 };
    struct model m;
    struct err e;
    int there;

    check_options(out, gguf, x->most);
    setup_kernels(0);
    if (model_open(&m, in, &e) < 0 || (there = tokenizer_is_there(in, &e)) < 0)
        die_err(&e);
    if (adapter != NULL && model_adapt(&m, adapter, &e) < 0)
        die_err(&e);
    if (adapter != NULL && !into_weights)
        return write_adapter(&m, out);
    if (adapter != NULL)
        merge_adapter(&m, &room);
    m.compress = compressed;
    if (compressed && compressed_count(&m) == 0)
        die(EX_USAGE,
            "%s: --compressed: retort.sparse in config.json names no 2:4 "
            "matrix; leave --compressed out",
            in);
    if (!there)
        note("%s: holds no tokenizer, so %s will hold none", in, out);
    else
        check_source_tokenizer(in, m.c.V, gguf);
    m.written = written;
    progress_begin("written", (double)model_params(&m), "parameters");
    if (gguf)
        write_gguf(&m, out, x, there ? in : NULL);
    else if (write_directory(&m, out, x->most, there ? in : NULL, &e) < 0)
        die_err(&e);
    progress_end();
    prog_closing("%zu parameters as %s", model_params(&m), x->name);
    model_close(&m);
    arena_release(&room);
    return 0;
}

int
main(int argc, char **argv)
{
    const int status = sub_run(argc, argv, commands);

    return status >= 0 ? status : convert_model(read_options(argc, argv));
}
