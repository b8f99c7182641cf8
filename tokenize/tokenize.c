/* tokenize - turn text into tokens; see tokenize(1) */
#include "clean.h"
#include "encode.h"
#include "out.h"
#include "stats.h"

#include "base/err.h"
#include "base/io.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/opt.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "docs/options.h"
#include "shard/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *tokenizer, *out, *resume_dir;
static struct input_opts input = DOCS_INPUT_DEFAULTS;
static int nfc, controls, romanian;
static struct docs_opts run = DOCS_DEFAULTS;
static const struct docs_progress progress = { progress_begin, progress_from,
    progress_at, progress_end };
static struct encoder encoder;
static struct clean_opts cleaning = CLEAN_OPTS;
static struct clean *clean;
static struct resume_key key;
static int with_bos, no_bos, no_eos, ids_only, decode, stats, json;

/* An empty stream or table is most likely a mistake; a run that goes on may
 * have nothing left. */
static int
check_found(const struct inputs *in, struct docs_sums *s, struct err *e)
{
    return resume_dir ? 0 : docs_found(in, s, e);
}

static void
finish(struct docs_sums *s)
{
    struct err e;

    docs_tell(s);
    if (nfc)
        note("%" PRIu64 " documents were changed by NFC", s->repair.nfc);
    if (controls)
        note("%" PRIu64 " control characters were removed", s->repair.controls);
    if (romanian)
        note("%" PRIu64 " letters with a cedilla got a comma",
            s->repair.romanian);
    if (clean_end(clean, &e) < 0)
        die_err(&e);
    if (s->empty > 0 && s->docs + s->dropped == 0)
        note("all documents are empty");
    else if (s->empty > 0)
        vnote("%" PRIu64 " empty documents were left out", s->empty);
    prog_closing("%" PRIu64 " documents, %" PRIu64 " tokens, %.3f MB", s->docs,
        s->tokens, (double)s->bytes / 1e6);
}

static void
job_stream(const struct inputs *in, const struct tokenizer *t)
{
    struct resume from = { .resumed = 0 };
    struct docs_sums sums;
    struct err e, other;
    struct out_stream *s;
    int k;

    if (resume_inputs(&key, in, &e) < 0)
        die_err(&e);
    if (resume_dir && resume_read(resume_dir, &key, t, &run, &from, &e) < 0)
        die_err(&e);
    s = out_stream_open(out, t, in, encoder.bos, encoder.eos, &key, &from, &e);
    if (!s)
        die_err(&e);
    run.put = out_stream_put;
    run.ctx = s;
    k = docs_run(in, &run, &sums, &e);
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
    struct stats *s = stats ? stats_new(in, &encoder) : NULL;
    struct docs_sums sums;
    struct err e;

    run.put = stats ? stats_put : out_ids_put;
    run.ctx = stats ? (void *)s : (void *)stdout;
    if (docs_run(in, &run, &sums, &e) < 0 || check_found(in, &sums, &e) < 0) {
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

    if (out_decode(in, t, between[run.split], stdout, &e) < 0) {
        fflush(stdout);
        die_err(&e);
    }
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
    encoder.t = t;
    encoder.count = stats;
    encoder.bos = no_bos ? -1 : with_bos ? tok_bos(t) : tok_template_bos(t);
    encoder.eos = no_eos ? -1 : tok_eos(t);
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
        DOCS_OPTIONS(input, run), OPT_GROUP("repair"),
        OPT_FLAG(0, "nfc", &nfc, "normalise text to NFC"),
        OPT_FLAG(0, "strip-controls", &controls,
            "remove control characters and byte order marks"),
        OPT_FLAG(0, "romanian", &romanian,
            "letters with a cedilla get a comma below"),
        CLEAN_OPTIONS(cleaning), OPT_GROUP("tokens"),
        OPT_FLAG(0, "special", &encoder.special,
            "special tokens in the text become their ids"),
        OPT_FLAG(0, "bos", &with_bos, "put BOS before each document"),
        OPT_FLAG(0, "no-bos", &no_bos, "put none, whatever the tokenizer says"),
        OPT_FLAG(0, "no-eos", &no_eos, "do not close documents with EOS"),
        OPT_GROUP("instead of a stream"),
        OPT_FLAG(0, "ids", &ids_only, "print ids, a line a document"),
        OPT_FLAG(0, "stats", &stats, "print a table of the sources"),
        OPT_FLAG(0, "json", &json, "print the table of --stats as JSON"),
        OPT_FLAG(0, "decode", &decode, "print the text of a stream"), OPT_END };
    char **operand = opt_parse(argc, argv, opts, "turn text into tokens",
        "[file ...]", 0, -1, NULL);
    struct tokenizer *t = NULL;
    struct msg_in *stream = NULL;
    const char *lang = NULL;
    struct inputs in;
    struct err e;

    resume_options(&key, opts);
    if (run.limit.split) /* else it decides nothing but what fails */
        key.options ^= run.limit.most;
    if (ids_only + stats + decode > 1)
        die(EX_USAGE, "only one of --ids, --stats, --decode");
    if (json && !stats)
        die(EX_USAGE, "--json is a form of --stats");
    if (with_bos && no_bos)
        die(EX_USAGE, "--bos and --no-bos");
    if (out && (ids_only || stats || decode))
        die(EX_USAGE,
            "-o is for a stream; --ids, --stats and --decode write to standard "
            "output");
    if (resume_dir && (ids_only || stats || decode))
        die(EX_USAGE, "--resume is for a stream");
    if (docs_check(&input, &run, &e) < 0)
        die_err(&e);
    run.progress = &progress;
    run.repair = (nfc ? REPAIR_NFC : 0u) | (controls ? REPAIR_CONTROLS : 0u) |
        (romanian ? REPAIR_ROMANIAN : 0u);
    if (!tokenizer)
        die(EX_USAGE,
            "which tokenizer? -t takes a tokenizer.json, a model directory or "
            "a .gguf file");
    /* A wrong file name is said before a vocabulary is read, for seconds. */
    if (decode)
        stream = open_stream(operand);
    else
        lang = list_inputs(&in, operand);
    t = open_tokenizer();
    if (decode) {
        job_decode(stream, t);
    } else {
        open_cleaning(lang, &in);
        encoder_begin(&encoder, &run);
        if (ids_only || stats)
            job_text(&in);
        else
            job_stream(&in, t);
        encoder_release(&encoder);
        clean_free(clean);
        inputs_release(&in);
    }
    tok_free(t);
    out_done();
    return EX_OK;
}
