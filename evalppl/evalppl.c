/* evalppl - measure perplexity and distance from a teacher; see evalppl(1) */
#include "base_score.h"
#include "detail.h"
#include "draft.h"
#include "print.h"
#include "read.h"
#include "spread.h"
#include "spread_print.h"
#include "stream_base.h"
#include "text.h"
#include "losses.h"
#include "worst.h"
#include "base/err.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/out.h"
#include "cli/setup.h"
#include "cli/shared.h"
#include "eval/options.h"
#include "eval/resume.h"
#include "kern/kern.h"
#include "model/pass/compute.h"
#include "model/pass/head.h"

const char *const protocol_name[] = { "docs", "llama.cpp", "hf", "lm-eval",
    "stream", NULL };

enum { CONTEXT = 512 }; /* default of --context, tokens */

static struct {
    struct opt_list models;
    const char *adapter, *base, *read_base, *write_base, *before, *out;
    const char *detail, *losses, *resume;
    size_t worst, c, stride, rows, threads;
    double temperature;
    int protocol, format, per_source, compare, compute, spread, drafts,
        recorded;
} a = { .c = CONTEXT, .temperature = 1.0 };

static const struct opt options[] = { EVAL_MODEL_OPTIONS(a),
    OPT_FLAG(0, "recorded", &a.recorded,
        "compare with the teacher in the stream, which holds its head and "
        "final states"),
    OPT_STR(0, "read-base", &a.read_base, "file",
        "compare with the predictions in this file, which llama-perplexity "
        "or --write-base wrote"),
    OPT_STR(0, "write-base", &a.write_base, "file",
        "write a file for --read-base: the predictions of the base or, "
        "without one, of the only model"),
    OPT_STR(0, "before", &a.before, "model",
        "model before distillation (adds the column regained)"),
    EVAL_REPORT_OPTIONS(a),
    OPT_FLAG(0, "spread", &a.spread,
        "report percentiles of KL and of the change in the probability of "
        "the next token"),
    OPT_FLAG(0, "drafts", &a.drafts,
        "report how much faster each model would make the base as its draft"),
    OPT_SIZE(0, "worst", &a.worst, 0, 1 << 24, "n",
        "report the n documents with the highest KL (without a base: the "
        "highest loss)"),
    OPT_STR(0, "detail", &a.detail, "file",
        "write mean losses by source, length of context, class of token and "
        "confidence"),
    OPT_STR(0, "token-losses", &a.losses, "file",
        "write the loss of every token, as TSV"),
    OPT_GROUP("protocol"),
    OPT_ENUM(0, "protocol", &a.protocol, protocol_name, "name",
        "how text is cut and scored"),
    OPT_SIZE('c', "context", &a.c, 2, 1 << 24, "tokens",
        "tokens of a window of text; in a stream of batches a window is a row"),
    OPT_SIZE(0, "stride", &a.stride, 0, 1 << 24, "tokens",
        "tokens from the beginning of a window to that of the next one, for "
        "--protocol hf (0: half a window)"),
    OPT_REAL(0, "temperature", &a.temperature, 0.01, 1000, "T",
        "temperature of the softmax"),
    EVAL_RUN_OPTIONS(a), OPT_END };

/* Refuse options for llama.cpp's files of a base that contradict other options.
 */
static void
check_files(const char *input)
{
    const char *option = a.read_base != NULL ? "--read-base" : "--write-base";

    if (a.read_base == NULL && a.write_base == NULL)
        return;
    if (a.protocol != PROTO_LLAMA)
        die(EX_USAGE, "%s needs --protocol llama.cpp: give both", option);
    if (a.read_base != NULL && a.write_base != NULL)
        die(EX_USAGE,
            "--read-base and --write-base exclude each other: give one");
    if (a.write_base != NULL && a.resume != NULL)
        die(EX_USAGE,
            "--resume does not save what --write-base writes: give one");
    if (a.read_base != NULL && input != NULL)
        die(EX_USAGE, "--read-base takes its text from the file: leave out %s",
            input);
    if (a.write_base != NULL && a.base == NULL && a.models.n > 1)
        die(EX_USAGE,
            "--write-base writes one of %zu models: name it by --base",
            a.models.n);
}

/* Refuse options that need a base if there is none, and more than one base. */
static void
check_base(void)
{
    const int bases = (a.base != NULL) + (a.read_base != NULL) + a.recorded;
    const char *needs = a.before != NULL ? "--before"
        : a.temperature != 1.0           ? "--temperature"
        : a.spread                       ? "--spread"
        : a.drafts                       ? "--drafts"
                                         : NULL;

    if (bases > 1)
        die(EX_USAGE,
            "--base, --recorded and --read-base exclude each other: give one");
    if (bases == 0 && needs != NULL)
        die(EX_USAGE, "%s compares with a base: name it by --base", needs);
    if (a.recorded && a.protocol == PROTO_LMEVAL)
        die(EX_USAGE,
            "--recorded needs batches, and --protocol lm-eval reads text: "
            "give one");
}

static void
check_arguments(void)
{
    if (a.models.n == 0)
        die(EX_USAGE, "name a model by -m; see evalppl -h");
    if (a.stride > 0 && a.protocol != PROTO_HF)
        die(EX_USAGE, "--stride needs --protocol hf: give both");
    if (a.stride > a.c)
        die(EX_USAGE,
            "--stride %zu leaves gaps between windows of %zu: give %zu at "
            "most, or a larger -c",
            a.stride, a.c, a.c);
    out_differ("-o", a.out != NULL ? a.out : "-", "--write-base", a.write_base,
        "--detail", a.detail, "--token-losses", a.losses, "--resume", a.resume,
        NULL);
    if (a.protocol == PROTO_LLAMA && a.per_source)
        die(EX_USAGE,
            "--protocol llama.cpp joins all documents, so no source has "
            "figures: leave out --per-source");
}

/* Set how text is cut, scored and computed. */
static void
set_protocol(struct eval *e)
{
    e->compute = a.compute;
    e->protocol = (enum protocol)a.protocol;
    e->c = a.c;
    e->stride = a.protocol == PROTO_DOCS ? a.c - 1
        : a.protocol != PROTO_HF         ? a.c
        : a.stride > 0                   ? a.stride
                                         : a.c / 2;
    e->rows = a.rows;
    e->temperature = a.temperature;
}

static void
open_eval_models(struct eval *e)
{
    struct err err;

    e->base = e->before = NONE;
    e->kld.out_path = a.write_base;
    if (a.read_base != NULL)
        base_score_open(e, a.read_base);
    else if (a.base != NULL)
        e->base = eval_open_model(e, a.base);
    for (size_t i = 0; i < a.models.n; i++)
        eval_open_model(e, a.models.v[i]);
    if (models_adapt(e->j + e->nj - a.models.n, a.models.n, a.adapter, &err) <
        0)
        die_err(&err);
    if (a.before != NULL)
        e->before = eval_model_named(e, a.before);
    if (a.recorded)
        stream_base_open(e);
    if (models_check(e->j, e->nj, &err) < 0)
        die_err(&err);
    if (a.protocol == PROTO_LMEVAL && a.base == NULL)
        eval_split(e); /* with a base, all models have one tokenizer */
    if (e->also != NULL && (a.worst > 0 || a.detail != NULL || a.losses))
        die(EX_USAGE,
            "%s needs models of one tokenizer: leave it out, or run evalppl "
            "for each tokenizer",
            a.worst > 0            ? "--worst"
                : a.detail != NULL ? "--detail"
                                   : "--token-losses");
}

/* Open the file of --resume, which belongs to these models and options. */
static struct resume *
open_eval_resume(const struct eval *e)
{
    struct resume *r;
    struct buf b = { 0 };
    struct err err;

    buf_addf(&b, "%s %s %zu %zu %g %zu %d %d %zu", kern_name(),
        protocol_name[e->protocol], e->c, e->stride, e->temperature, e->base,
        a.detail != NULL, e->kld.in != NULL, sizeof(struct pair_score));
    for (const struct eval *f = e; f != NULL; f = f->also)
        models_hash(&b, f->j, f->nj);
    if ((r = resume_open(a.resume, &b, &err)) == NULL)
        die_err(&err);
    buf_release(&b);
    return r;
}

static void
write_evaluation(struct eval *e)
{
    struct buf b = { 0 };
    struct sheet s;

    sheet_open(&s, &b, (enum format)a.format);
    eval_print(e, &s, a.per_source, a.compare);
    if (a.drafts)
        drafts_print(e, &s);
    if (a.spread)
        spread_print(e, &s, a.per_source);
    if (a.worst > 0)
        worst_print(e, a.worst, &s);
    sheet_close(&s);
    out_file(a.out, b.p, b.n);
    if (e->detail != NULL) {
        buf_clear(&b);
        detail_print(e->detail, e, &b);
        out_file(a.detail, b.p, b.n);
    }
    buf_release(&b);
}

int
main(int argc, char **argv)
{
    static struct eval e;
    char **input = opt_parse(argc, argv, options,
        "measure perplexity, and the distance from a teacher", "[input]", 0, 1,
        NULL);

    check_arguments();
    check_base();
    check_files(*input);
    set_protocol(&e);
    setup_kernels(a.compute);
    open_eval_models(&e);
    e.pool = setup_pool(a.threads);
    if (a.spread)
        e.spread = spread_new(e.nj, e.base, a.temperature != 1.0, a.per_source);
    e.detail = a.detail != NULL ? detail_new(&e) : NULL;
    e.resume = a.resume != NULL ? open_eval_resume(&e) : NULL;
    for (struct eval *f = e.also; f != NULL; f = f->also) {
        f->resume = e.resume;
        f->pool = e.pool;
    }
    e.losses = a.losses != NULL ? losses_begin(&e, a.losses) : NULL;
    if (e.kld.in != NULL)
        eval_base(&e);
    else if (e.protocol == PROTO_LMEVAL)
        eval_text(&e, *input);
    else
        eval_stream(&e, *input);
    if (e.losses != NULL)
        losses_end(e.losses);
    write_evaluation(&e);
    out_done();
    resume_close(e.resume);
    detail_free(e.detail);
    base_score_close(&e);
    stream_base_free(e.stream_base);
    spread_free(e.spread);
    eval_release(&e);
    pool_free(e.pool);
    return 0;
}
