/* evalppl - measure what of a teacher is left; see evalppl(1) */
#include "detail.h"
#include "spread.h"
#include "vocab.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "eval/resume.h"
#include "kern/kern.h"
#include "model/compute.h"

#include <stdlib.h>
#include <string.h>

const char *const protocol_name[] = { "docs", "llama.cpp", "hf", "lm-eval",
    "stream", NULL };

enum { CONTEXT = 512 }; /* -c */

static struct {
    struct opt_list models;
    const char *base, *read_base, *write_base, *from, *out;
    const char *detail, *tokens, *resume;
    size_t worst, c, stride, rows, threads;
    double temperature;
    int protocol, format, per_source, compare, compute, spread, recorded;
} a = { .c = CONTEXT, .temperature = 1.0 };

static const struct opt options[] = {
    OPT_LIST('m', "model", &a.models, "model",
        "a model to judge, [label=]path; may be given again"),
    OPT_STR(0, "base", &a.base, "model", "the teacher: KL to it and agreement"),
    OPT_FLAG(0, "recorded", &a.recorded,
        "in place of it, what the stream holds of its teacher"),
    OPT_STR(0, "read-base", &a.read_base, "file",
        "in place of it, what llama-perplexity --save-all-logits wrote"),
    OPT_STR(0, "write-base", &a.write_base, "file",
        "write such a file of the base, or of the only model"),
    OPT_STR(0, "from", &a.from, "model",
        "the model before distillation: how much of its loss is regained"),
    OPT_STR('o', "output", &a.out, "file",
        "write the report there (default: standard output)"),
    OPT_ENUM(0, "format", &a.format, format_names, "name",
        "form of the report"),
    OPT_FLAG(0, "per-source", &a.per_source, "figures of each source too"),
    OPT_FLAG(0, "compare", &a.compare,
        "differences between models, paired by document"),
    OPT_FLAG(0, "spread", &a.spread,
        "percentiles of KL and of the change of probability"),
    OPT_SIZE(0, "worst", &a.worst, 0, 1 << 24, "n",
        "the documents with the highest KL, or loss, too"),
    OPT_STR(0, "detail", &a.detail, "file",
        "write tables by context, class of token and confidence there"),
    OPT_STR(0, "tokens", &a.tokens, "file",
        "write the loss of every token there, as TSV"),
    OPT_GROUP("protocol"),
    OPT_ENUM(0, "protocol", &a.protocol, protocol_name, "name",
        "how text is cut and scored"),
    OPT_SIZE('c', "context", &a.c, 2, 1 << 24, "tokens",
        "tokens of a window; batches have their own"),
    OPT_SIZE(0, "stride", &a.stride, 0, 1 << 24, "tokens",
        "step of the windows of hf (0: half a window)"),
    OPT_REAL(0, "temperature", &a.temperature, 0.01, 1000, "T",
        "temperature of a second KL"),
    OPT_GROUP("run"),
    OPT_SIZE('B', "batch-size", &a.rows, 0, 65536, "rows",
        "windows at a time (0: about 4096 tokens)"),
    OPT_ENUM(0, "compute", &a.compute, compute_names, "type",
        "what matrix products multiply"),
    OPT_STR(0, "resume", &a.resume, "file",
        "keep there what is computed, and go on from what is there"),
    OPT_SIZE('j', "threads", &a.threads, 0, 4096, "threads",
        "threads (0: all processors)"),
    OPT_END
};

struct given {
    int is;
    const char *name;
};

/* None of what is given in a list, whose end has no name: `how` it is wrong. */
static void
refuse(const char *how, const struct given *g)
{
    for (; g->name != NULL; g++)
        if (g->is)
            die(EX_USAGE, "%s: %s", g->name, how);
}

/* llama.cpp's files of a base. */
static void
check_files(const char *input)
{
    if ((a.read_base != NULL || a.write_base != NULL) &&
        a.protocol != PROTO_LLAMA)
        die(EX_USAGE, "--%s-base needs --protocol llama.cpp",
            a.read_base != NULL ? "read" : "write");
    if (a.write_base != NULL && a.resume != NULL)
        die(EX_USAGE, "--resume does not keep what --write-base writes");
    if (a.read_base != NULL && a.write_base != NULL)
        die(EX_USAGE, "--read-base and --write-base");
    if (a.read_base != NULL && input != NULL)
        die(EX_USAGE, "--read-base: the file has the text: no %s", input);
    if (a.write_base != NULL && a.base == NULL && a.models.n > 1)
        die(EX_USAGE,
            "--write-base: which of %zu models is the base? --base "
            "says so",
            a.models.n);
}

static void
check_arguments(void)
{
    const int bases = (a.base != NULL) + (a.read_base != NULL) + a.recorded;

    if (bases > 1)
        die(EX_USAGE, "--base, --recorded, --read-base: one of them");
    if (a.models.n == 0)
        die(EX_USAGE, "-m is needed; see evalppl -h");
    if (a.recorded && a.protocol == PROTO_LMEVAL)
        die(EX_USAGE, "--recorded: not with --protocol lm-eval");
    if (bases == 0)
        refuse("needs --base",
            (const struct given[]){ { a.from != NULL, "--from" },
                { a.temperature != 1.0, "--temperature" },
                { a.spread, "--spread" }, { 0, NULL } });
    if (a.stride > 0 && a.protocol != PROTO_HF)
        die(EX_USAGE, "--stride needs --protocol hf");
    if (a.stride > a.c)
        die(EX_USAGE, "--stride %zu leaves gaps between windows of %zu",
            a.stride, a.c);
    if (a.protocol == PROTO_LLAMA && a.per_source)
        die(EX_USAGE,
            "--protocol llama.cpp joins all documents: there are no figures of "
            "a source");
}

static void
open_all(struct eval *e)
{
    /* Of different tokenizers; a base's must be the same. */
    const int texts = a.protocol == PROTO_LMEVAL && a.base == NULL;
    struct err err;

    if (compute_init(a.compute, &err) < 0)
        die_err(&err);
    e->compute = a.compute;
    e->protocol = (enum protocol)a.protocol;
    e->c = a.c;
    e->stride = a.protocol == PROTO_DOCS ? a.c - 1
        : a.protocol != PROTO_HF         ? a.c
        : a.stride > 0                   ? a.stride
                                         : a.c / 2;
    e->rows = a.rows;
    e->temperature = a.temperature;
    e->base = e->from = NONE;
    e->out_path = a.write_base;
    if (a.read_base != NULL)
        recorded_open(e, a.read_base);
    else if (a.base != NULL)
        e->base = judged_open(e, a.base);
    for (size_t i = 0; i < a.models.n; i++)
        judged_open(e, a.models.v[i]);
    if (a.from != NULL)
        e->from = judged_find(e, a.from);
    if (a.recorded)
        recorded_stream(e);
    if (models_check(e->j, e->nj, &err) < 0)
        die_err(&err);
    if (texts)
        judged_split(e);
    if (e->also != NULL)
        refuse("not with models of different tokenizers",
            (const struct given[]){ { a.worst > 0, "--worst" },
                { a.detail != NULL, "--detail" },
                { a.tokens != NULL, "--tokens" }, { 0, NULL } });
    if (a.spread)
        e->spread =
            spread_new(e->nj, e->base, a.temperature != 1.0, a.per_source);
    if ((e->pool = pool_new(a.threads, &err)) == NULL)
        die_err(&err);
}

/* All that figures depend on, but the input. */
static struct resume *
open_resume(const struct eval *e)
{
    struct resume *r;
    struct buf b = { 0 };
    struct err err;

    buf_addf(&b, "%s %s %zu %zu %g %zu %d %d", kern_name(),
        protocol_name[e->protocol], e->c, e->stride, e->temperature, e->base,
        a.detail != NULL, e->in != NULL);
    for (const struct eval *f = e; f != NULL; f = f->also)
        models_hash(&b, f->j, f->nj);
    if ((r = resume_open(a.resume, &b, &err)) == NULL)
        die_err(&err);
    buf_release(&b);
    return r;
}

static void
report(struct eval *e)
{
    struct buf b = { 0 };

    eval_print(e, (enum format)a.format, a.per_source, a.compare, &b);
    if (a.spread)
        spread_print(e, (enum format)a.format, a.per_source, &b);
    if (a.worst > 0)
        worst_print(e, a.worst, (enum format)a.format, &b);
    out_file(a.out, b.p, b.n);
    if (e->detail != NULL) {
        buf_clear(&b);
        detail_print(e->detail, e, &b);
        out_file(a.detail, b.p, b.n);
    }
    buf_release(&b);
}

/* What there is one of for each tokenizer. */
static void
release(struct eval *e)
{
    if (e->also != NULL)
        release(e->also);
    free(e->also);
    models_close(e->j, e->nj);
    stream_info_release(&e->info);
    vocab_free(e->vocab);
    free(e->unit);
    free(e->sum);
}

int
main(int argc, char **argv)
{
    static struct eval e;
    char **input = opt_parse(argc, argv, options,
        "measure perplexity, and how much of a teacher is left", "[input]", 0,
        1, NULL);

    check_arguments();
    check_files(*input);
    open_all(&e);
    e.detail = a.detail != NULL ? detail_new(&e) : NULL;
    e.resume = a.resume != NULL ? open_resume(&e) : NULL;
    for (struct eval *f = e.also; f != NULL; f = f->also) {
        f->resume = e.resume;
        f->pool = e.pool;
    }
    e.tokens = a.tokens != NULL ? tokens_begin(&e, a.tokens) : NULL;
    if (e.in != NULL)
        eval_base(&e);
    else if (e.protocol == PROTO_LMEVAL)
        eval_text(&e, *input);
    else
        eval_stream(&e, *input);
    if (e.tokens != NULL)
        tokens_end(e.tokens);
    report(&e);
    out_done();
    resume_close(e.resume);
    detail_free(e.detail);
    recorded_close(&e);
    spread_free(e.spread);
    release(&e);
    pool_free(e.pool);
    return 0;
}
