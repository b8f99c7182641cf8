/* tokenize - turn text into tokens; see tokenize(1) */
#include "clean.h"
#include "out.h"
#include "stats.h"
#include "train.h"

#include "base/err.h"
#include "base/io.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "shard/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *tokenizer, *out, *train, *weights;
static const char *eos_text = "<|endoftext|>", *resume_dir;
static struct input_opts input = { .max_ratio = 10000, .max_members = 1000000 };
static int nfc, controls, romanian;
static struct run_opts run = { .field = "text",
    .limit.most = (size_t)64 << 20 };
static struct clean_opts cleaning = CLEAN_OPTS;
static struct clean *clean;
static struct resume_key key;
static int with_bos, no_bos, no_eos, ids_only, decode, stats, json, split;
static int no_digits;
static size_t vocab = 4096, min_frequency = 2;

static const char *const split_names[] = { "file", "line", "blank", NULL };

/* An empty stream or table is most likely a mistake; a run that goes on may
 * have nothing left. */
static int
check_found(const struct inputs *in, struct run_sums *s, struct err *e)
{
    return resume_dir ? 0 : run_found(in, s, e);
}

static void
finish(struct run_sums *s)
{
    char tokens[40] = "";
    struct err e;

    if (s->mended > 1)
        warn("%" PRIu64 " places in %" PRIu64
             " files were not UTF-8 and became U+FFFD",
            s->repaired, s->mended);
    if (nfc)
        note("%" PRIu64 " documents were changed by NFC", s->norm.nfc);
    if (controls)
        note("%" PRIu64 " control characters were removed", s->norm.controls);
    if (romanian)
        note("%" PRIu64 " letters with a cedilla got a comma",
            s->norm.romanian);
    passed_end(&s->passed);
    if (clean_end(clean, &e) < 0)
        die_err(&e);
    if (s->empty > 0 && s->docs + s->dropped == 0)
        note("all documents are empty");
    else if (s->empty > 0)
        vnote("%" PRIu64 " empty documents were left out", s->empty);
    if (s->tokens) /* training makes none */
        snprintf(tokens, sizeof tokens, "%" PRIu64 " tokens, ", s->tokens);
    prog_closing("%" PRIu64 " documents, %s%.3f MB", s->docs, tokens,
        (double)s->bytes / 1e6);
}

static void
job_stream(const struct inputs *in, const struct tokenizer *t)
{
    struct resume from = { .resumed = 0 };
    struct run_sums sums;
    struct err e, other;
    struct out_stream *s;
    int k;

    if (resume_inputs(&key, in, &e) < 0)
        die_err(&e);
    if (resume_dir && resume_read(resume_dir, &key, t, &run, &from, &e) < 0)
        die_err(&e);
    s = out_stream_open(out, t, in, run.bos, run.eos, &key, &from, &e);
    if (!s)
        die_err(&e);
    run.put = out_stream_put;
    run.ctx = s;
    k = run_inputs(in, &run, &sums, &e);
    if (k == 0)
        k = check_found(in, &sums, &e);
    if (k < 0) {
        out_stream_end(s, 0, e.msg, &other);
        out_stream_close(s);
        die_err(&e);
    }
    if (k == 0)
        k = out_stream_end(s, 1, NULL, &e);
    out_stream_close(s);
    if (k < 0)
        die_err(&e);
    finish(&sums);
}

static void
job_text(const struct inputs *in)
{
    struct stats *s = stats ? stats_new(in, &run) : NULL;
    struct run_sums sums;
    struct err e;

    run.put = stats ? stats_put : out_ids_put;
    run.ctx = stats ? (void *)s : (void *)stdout;
    run.count = stats;
    if (run_inputs(in, &run, &sums, &e) < 0 || check_found(in, &sums, &e) < 0) {
        fflush(stdout);
        die_err(&e);
    }
    if (stats)
        stats_print(s, stdout, clean, json);
    stats_free(s);
    finish(&sums);
}

static void
job_decode(struct msg_in *in, const struct tokenizer *t)
{
    static const char *const between[] = { "", "\n", "\n\n" };
    struct err e;

    if (out_decode(in, t, between[split], stdout, &e) < 0) {
        fflush(stdout);
        die_err(&e);
    }
}

static void
job_train(const struct inputs *in)
{
    const struct train_opts o = { .vocab = vocab,
        .out = train,
        .min_frequency = min_frequency,
        .digits = !no_digits,
        .eos = eos_text,
        .weights = weights };
    struct run_sums sums;
    struct err e;

    if (train_run(in, &run, &o, &sums, &e) < 0)
        die_err(&e);
    finish(&sums);
}

static struct tokenizer *
open_tokenizer(void)
{
    struct tokenizer *t;
    struct err e;

    t = tok_open(tokenizer, &e);
    if (!t)
        die_err(&e);
    if (tok_warning(t))
        warn("%s: %s", tokenizer, tok_warning(t));
    if (with_bos && tok_bos(t) < 0)
        die(EX_USAGE, "%s: knows no token for the beginning of a text",
            tokenizer);
    run.t = t;
    run.bos = no_bos ? -1 : with_bos ? tok_bos(t) : tok_template_bos(t);
    run.eos = no_eos ? -1 : tok_eos(t);
    return t;
}

/* The stream to decode. */
static struct msg_in *
open_stream(char **operand)
{
    struct msg_in *in;
    struct err e;

    if (operand[0] && operand[1])
        die(EX_USAGE, "--decode takes one stream");
    in = set_in_open(operand[0], 0, &e);
    if (!in)
        die_err(&e);
    return in;
}

/* List the inputs; returns --lang if it is `auto`, else NULL. */
static const char *
list_inputs(struct inputs *in, char **operand)
{
    const char *lang = clean_lang_auto(input.lang) ? input.lang : NULL;
    struct err e;

    if (lang && (input.lang_field || input.lang_path))
        die(EX_USAGE, "--lang auto and --lang-field, --lang-path");
    if (train && cleaning.dedup.n > 0)
        die(EX_USAGE,
            "--dedup and --train: what is a duplicate is known too late; write "
            "a clean corpus first");
    if (lang)
        input.lang = "und";
    if (inputs_list(in, operand, &input, &e) < 0)
        die_err(&e);
    return lang;
}

static void
open_cleaning(const char *lang, struct inputs *in)
{
    struct err e;

    clean = clean_begin(&cleaning, lang, in, &run, &e);
    if (!clean)
        die_err(&e);
    key.options ^= clean_digest(clean);
}

int
main(int argc, char **argv)
{
    const struct opt opts[] = { OPT_STR('t', "tokenizer", &tokenizer,
                                    "tokenizer",
                                    "tokenizer.json, model directory or .gguf"),
        OPT_STR('o', "output", &out, "addr", "write the stream there"),
        OPT_SIZE('j', "threads", &run.threads, 0, 1024, "threads",
            "threads (0: one a processor)"),
        OPT_STR(0, "resume", &resume_dir, "dir",
            "go on where the shards in that directory end"),
        OPT_GROUP("input"),
        OPT_STR(0, "lang", &input.lang, "name",
            "source of all text, instead of the file's name"),
        OPT_STR(0, "lang-field", &input.lang_field, "field",
            "JSON field with the source, one of --lang a,b,c"),
        OPT_FLAG(0, "lang-path", &input.lang_path,
            "folder or file names say which of --lang a,b,c"),
        OPT_STR(0, "field", &run.field, "field", "JSON field with the text"),
        OPT_FLAG(0, "jsonl", &input.jsonl, "all input is JSONL"),
        OPT_FLAG(0, "wiki", &input.wiki, "all input is dumps of Wikipedia"),
        OPT_ENUM(0, "split", &split, split_names, "by",
            "where documents of plain text end"),
        OPT_SIZE(0, "max-doc", &run.limit.most, 16, 1 << 30, "bytes",
            "refuse longer documents"),
        OPT_FLAG(0, "split-long", &run.limit.split,
            "cut longer documents of plain text into several"),
        OPT_FLAG(0, "strict", &run.strict,
            "refuse what is not UTF-8, instead of U+FFFD"),
        OPT_FLAG(0, "lossy", &input.lossy,
            "take NUL bytes for text, and any share that is not UTF-8"),
        OPT_SIZE(0, "max-ratio", &input.max_ratio, 0, 0x1p40, "n",
            "content for a compressed byte at most (0: any)"),
        OPT_SIZE(0, "max-members", &input.max_members, 0, 0x1p40, "n",
            "members of an archive at most (0: any number)"),
        OPT_GROUP("repair"), OPT_FLAG(0, "nfc", &nfc, "normalise text to NFC"),
        OPT_FLAG(0, "strip-controls", &controls,
            "remove control characters and byte order marks"),
        OPT_FLAG(0, "romanian", &romanian,
            "letters with a cedilla get a comma below"),
        CLEAN_OPTIONS(cleaning), OPT_GROUP("tokens"),
        OPT_FLAG(0, "special", &run.special,
            "special tokens in the text become their ids"),
        OPT_FLAG(0, "bos", &with_bos, "put BOS before each document"),
        OPT_FLAG(0, "no-bos", &no_bos, "put none, whatever the tokenizer says"),
        OPT_FLAG(0, "no-eos", &no_eos, "do not close documents with EOS"),
        OPT_GROUP("instead of a stream"),
        OPT_FLAG(0, "ids", &ids_only, "print ids, a line a document"),
        OPT_FLAG(0, "stats", &stats, "print a table of the sources"),
        OPT_FLAG(0, "json", &json, "print the table of --stats as JSON"),
        OPT_FLAG(0, "decode", &decode, "print the text of a stream"),
        OPT_STR(0, "train", &train, "out",
            "train a tokenizer on the input; a directory or .json"),
        OPT_STR(0, "weights", &weights, "list",
            "how often each source counts: equal, name=w,..."),
        OPT_SIZE(0, "vocab", &vocab, 257, 1 << 24, "n",
            "entries of the trained vocabulary"),
        OPT_SIZE(0, "min-frequency", &min_frequency, 0, 1 << 30, "n",
            "rarer pairs are not merged"),
        OPT_FLAG(0, "no-digits", &no_digits, "let digits merge"),
        OPT_STR(0, "eos-token", &eos_text, "text", "end of text when training"),
        OPT_END };
    char **operand = opt_parse(argc, argv, opts, "turn text into tokens",
        "[file ...]", 0, -1, NULL);
    struct tokenizer *t = NULL;
    struct msg_in *stream = NULL;
    const char *lang = NULL;
    struct inputs in;

    resume_options(&key, opts);
    if (run.limit.split) /* else it decides nothing but what fails */
        key.options ^= run.limit.most;
    if (ids_only + stats + decode + (train != NULL) > 1)
        die(EX_USAGE, "only one of --ids, --stats, --decode, --train");
    if (json && !stats)
        die(EX_USAGE, "--json is a form of --stats");
    if (weights && !train)
        die(EX_USAGE, "--weights is for --train");
    if (with_bos && no_bos)
        die(EX_USAGE, "--bos and --no-bos");
    if (out && (ids_only || stats || decode || train))
        die(EX_USAGE,
            "-o is for a stream; --ids, --stats and --decode write to standard "
            "output, --train has its own");
    if (resume_dir && (ids_only || stats || decode || train))
        die(EX_USAGE, "--resume is for a stream");
    if (input.lang_field && input.lang_path)
        die(EX_USAGE, "--lang-field and --lang-path");
    if (run.strict && input.lossy)
        die(EX_USAGE, "--strict and --lossy");
    if (input.wiki && input.jsonl)
        die(EX_USAGE, "--wiki and --jsonl");
    run.norm = (nfc ? NORM_NFC : 0u) | (controls ? NORM_CONTROLS : 0u) |
        (romanian ? NORM_ROMANIAN : 0u);
    run.split = (enum split_by)split;
    run.lang_field = input.lang_field;
    if (!train && !tokenizer)
        die(EX_USAGE,
            "which tokenizer? -t takes a tokenizer.json, a model directory or "
            "a .gguf file");
    /* A wrong file name is said before a vocabulary is read, for seconds. */
    if (decode)
        stream = open_stream(operand);
    else
        lang = list_inputs(&in, operand);
    if (!train)
        t = open_tokenizer();
    if (decode) {
        job_decode(stream, t);
    } else {
        open_cleaning(lang, &in);
        if (train)
            job_train(&in);
        else if (ids_only || stats)
            job_text(&in);
        else
            job_stream(&in, t);
        clean_free(clean);
        inputs_release(&in);
    }
    tok_free(t);
    out_done();
    return EX_OK;
}
