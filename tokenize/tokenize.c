/* tokenize - turn text into tokens; see tokenize(1) */
#include "encode.h"
#include "out.h"
#include "stats.h"

#include "base/err.h"
#include "base/io.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/digest.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "cli/shared.h"
#include "docs/options.h"
#include "docs/resume.h"
#include "gen/chat.h"
#include "gen/date.h"
#include "shard/source.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *tokenizer, *out, *resume_dir, *template, *date;
static struct tm day; /* parsed `date` */
static struct input_opts input = DOCS_INPUT_DEFAULTS;
static struct docs_opts run = DOCS_DEFAULTS;
static const struct docs_progress progress = { progress_begin, progress_from,
    progress_at, progress_end };
static struct encoder encoder;
static struct docs_resume_key key;
static int with_bos, no_bos, no_eos, ids_only, decode, stats, format, chat;
static struct conversations conversations;

/* Options that do not change the stream's content, or whose effect the stream's
 * first message records. */
static const char *const aside[] = { "output", "threads", "resume", "tokenizer",
    "max-ratio", "max-members", "max-doc", "lossy", NULL };

static void
finish_tokenize(struct docs_sums *s)
{
    docs_note(s);
    if (s->empty > 0 && s->docs == 0)
        note("all documents are empty");
    else if (s->empty > 0)
        vnote("%" PRIu64 " empty documents were left out", s->empty);
    prog_closing("%" PRIu64 " documents, %" PRIu64 " tokens, %.3f MB", s->docs,
        s->tokens, (double)s->bytes / 1e6);
}

/* Check that the run to be resumed had the same tokenizer, input and options,
 * and set run.from. */
static void
resume_stream(const struct inputs *in, const struct tokenizer *t,
    struct docs_resume *r)
{
    struct err e;
    char hash[33];

    tok_hash(t, hash);
    if (docs_resume_inputs(&key, in, &e) < 0 ||
        (resume_dir && docs_resume_read(r, resume_dir, &e) < 0))
        die_err(&e);
    if (r->resumed && strcmp(r->tokenizer, hash) != 0)
        die(EX_USAGE, "%s: was begun with another tokenizer (%s, not %s)",
            resume_dir, r->tokenizer, hash);
    if (docs_resume_check(r, resume_dir, "input", r->key.inputs, key.inputs,
            &e) < 0 ||
        docs_resume_check(r, resume_dir, "options", r->key.options, key.options,
            &e) < 0 ||
        docs_resume_check(r, resume_dir, "options of clean", r->key.cleaning,
            key.cleaning, &e) < 0 ||
        docs_resume_place(r, resume_dir, in, &run.from, &e) < 0)
        die_err(&e);
}

static void
job_stream(const struct inputs *in, const struct tokenizer *t)
{
    struct docs_resume from = { .resumed = 0 };
    struct docs_sums sums;
    struct err e, other;
    struct out_stream *s;
    uint64_t cut;
    int k;

    resume_stream(in, t, &from);
    s = out_stream_open(out, t, in, encoder.bos, encoder.eos, &key, &from, &e);
    if (!s)
        die_err(&e);
    run.put = out_stream_put;
    run.ctx = s;
    k = docs_run(in, &run, &sums, &e);
    /* A resumed run may have nothing left to read; otherwise an empty stream is
     * most likely a mistake. */
    if (k == 0 && !from.has_cursor)
        k = docs_found(in, &sums, &e);
    if (k < 0) {
        out_stream_end(s, 0, e.msg, &other);
        out_stream_close(s);
        die_err(&e);
    }
    if (k == 0)
        k = out_stream_end(s, 1, NULL, &e);
    cut = out_stream_cut(s);
    out_stream_close(s);
    if (k < 0)
        die_err(&e);
    if (cut > 0)
        warn("%" PRIu64 " of %" PRIu64 " answers were cut off (finish_reason "
             "length), and will be learnt with an end: drop these lines, or "
             "write answers with a greater -n",
            cut, sums.docs);
    finish_tokenize(&sums);
}

static void
job_text(const struct inputs *in)
{
    struct stats *s = stats ? stats_new(in, &encoder) : NULL;
    struct docs_sums sums;
    struct err e;

    run.put = stats ? stats_put : out_ids_put;
    run.ctx = stats ? (void *)s : (void *)stdout;
    if (docs_run(in, &run, &sums, &e) < 0 || docs_found(in, &sums, &e) < 0) {
        fflush(stdout);
        die_err(&e);
    }
    if (stats)
        stats_print(s, stdout, (enum stats_format)format);
    stats_free(s);
    finish_tokenize(&sums);
}

/* Prepare --chat, and add the content of the chat template to key.options. */
static void
open_chat(const struct tokenizer *t)
{
    struct err e;
    char hash[33];

    if (conversations_open(&conversations, t, tokenizer, template,
            date ? &day : NULL, &e) < 0)
        die_err(&e);
    chat_hash(tokenizer, template, hash);
    hash[16] = '\0';
    key.options ^= strtoull(hash, NULL, 16);
}

static struct tokenizer *
open_encoder(void)
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
    if (chat)
        open_chat(t);
    encoder.chat = chat ? &conversations : NULL;
    encoder.bos = no_bos || chat ? -1
        : with_bos               ? tok_bos(t)
                                 : tok_template_bos(t);
    encoder.eos = no_eos || chat ? -1 : tok_eos(t);
    return t;
}

static struct msg_in *
open_stream(char **operand)
{
    struct msg_in *in;
    struct err e;

    if (operand[0] && operand[1])
        die(EX_USAGE, "--decode takes one stream: leave out \"%s\"",
            operand[1]);
    in = set_in_open(operand[0], 0, &e);
    if (!in)
        die_err(&e);
    return in;
}

static void
check_tokenize_options(void)
{
    const int text = ids_only + stats + decode;
    struct err e;

    if (text > 1)
        die(EX_USAGE,
            "--ids, --stats and --decode exclude each other: give "
            "one");
    if (format != STATS_TSV && !stats)
        die(EX_USAGE, "--format belongs to --stats: give that too");
    if (with_bos && no_bos)
        die(EX_USAGE, "--bos and --no-bos exclude each other: give one");
    if (chat &&
        (stats || decode || with_bos || no_bos || no_eos || encoder.special ||
            input.lang_field))
        die(EX_USAGE,
            "--chat excludes --stats, --decode, --bos, --no-bos, --no-eos, "
            "--special and --lang-field: leave these out");
    if ((template || date) && !chat)
        die(EX_USAGE, "--%s belongs to --chat: give that too",
            template ? "template" : "date");
    if (date && date_parse(date, &day, &e) < 0)
        die_err(&e);
    if (out && text)
        die(EX_USAGE,
            "-o is for a stream; --ids, --stats and --decode write to standard "
            "output: use >");
    if (resume_dir && text)
        die(EX_USAGE,
            "--resume is for a stream: leave out --ids, --stats and --decode");
    if (docs_check(&input, &run, &e) < 0)
        die_err(&e);
    if (!tokenizer)
        die(EX_USAGE,
            "which tokenizer? -t takes a tokenizer.json, a model directory or "
            "a .gguf file");
}

static void
job_documents(char **operand)
{
    struct tokenizer *t;
    struct inputs in;
    struct err e;

    /* Look at the inputs first: reading a vocabulary takes seconds. */
    if (inputs_list(&in, operand, &input, &e) < 0)
        die_err(&e);
    t = open_encoder();
    encoder_begin(&encoder, &run);
    if (ids_only || stats)
        job_text(&in);
    else
        job_stream(&in, t);
    encoder_release(&encoder);
    conversations_close(&conversations);
    inputs_release(&in);
    tok_free(t);
}

static void
job_decode(char **operand)
{
    static const char *const between[] = { "", "\n", "\n\n" };
    struct msg_in *in = open_stream(operand);
    struct tokenizer *t = open_encoder();
    struct err e;

    if (out_decode(in, t, between[run.split], stdout, &e) < 0) {
        fflush(stdout);
        die_err(&e);
    }
    tok_free(t);
}

int
main(int argc, char **argv)
{
    const struct opt opts[] = { OPT_TOKENIZER(&tokenizer, ""),
        OPT_STR('o', "output", &out, "addr", "address to write the stream to"),
        OPT_THREADS(&run.threads), OPT_RESUME(&resume_dir),
        DOCS_OPTIONS(input, run), OPT_GROUP("tokens"),
        OPT_FLAG(0, "special", &encoder.special,
            "encode names of special tokens in the text as these tokens"),
        OPT_FLAG(0, "bos", &with_bos, "put BOS before each document"),
        OPT_FLAG(0, "no-bos", &no_bos,
            "put no BOS, whatever the tokenizer says"),
        OPT_FLAG(0, "no-eos", &no_eos, "do not put EOS after documents"),
        OPT_FLAG(0, "chat", &chat,
            "read conversations, and mark what the assistant says"),
        OPT_TEMPLATE(&template), OPT_DATE(&date), OPT_GROUP("text"),
        OPT_FLAG(0, "ids", &ids_only, "print ids, one document per line"),
        OPT_FLAG(0, "stats", &stats, "print a table of the sources"),
        OPT_FORMAT(&format, stats_formats),
        OPT_FLAG(0, "decode", &decode, "print the text of a stream"), OPT_END };
    char **operand = opt_parse(argc, argv, opts, "turn text into tokens",
        "[file ...]", 0, -1, NULL);

    key.options = opt_digest(opts, aside);
    if (run.limit.split) /* then --max-doc decides where documents are cut */
        key.options ^= run.limit.most;
    check_tokenize_options();
    input.jsonl |= chat;
    run.whole = chat;
    run.progress = &progress;
    if (decode)
        job_decode(operand);
    else
        job_documents(operand);
    out_done();
    return EX_OK;
}
