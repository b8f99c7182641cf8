/* clean - text to cleaned documents, without duplicates; see clean(1) */
#include "cleaning.h"
#include "lang.h"

#include "base/note.h"
#include "cli/die.h"
#include "cli/digest.h"
#include "cli/out.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "cli/shared.h"
#include "docs/options.h"
#include "docs/resume.h"

#include <inttypes.h>
#include <string.h>

static const char *resume_dir;
static struct input_opts input = DOCS_INPUT_DEFAULTS;
static struct docs_opts reading = DOCS_DEFAULTS;
static const struct docs_progress progress = { progress_begin, progress_from,
    progress_at, progress_end };
static struct cleaning_opts cleaning = { .mem = (size_t)256 << 20,
    .exclude_common = EXCLUDE_COMMON };
static int nfc, controls, romanian, stats, format;

/* Options that do not change which documents are written, or whose effect is
 * hashed separately. */
static const char *const aside[] = { "output", "threads", "resume", "dropped",
    "mem", "max-ratio", "max-members", "max-doc", "lossy", "exclude",
    "exclude-words", "exclude-common", "exclude-report", "format", NULL };

/* Returns --lang if it is `auto`, else NULL. */
static const char *
check_clean_options(void)
{
    const char *langs = langs_auto(input.lang) ? input.lang : NULL;
    struct err e;

    if (langs && (input.lang_field || input.lang_path))
        die(EX_USAGE,
            "--lang auto excludes --lang-field and --lang-path: give one of "
            "them");
    if (langs)
        input.lang = "und";
    if (docs_check(&input, &reading, &e) < 0)
        die_err(&e);
    if (format != STATS_TSV && !stats)
        die(EX_USAGE, "--format belongs to --stats: give that too");
    if (stats && (resume_dir || cleaning.output))
        die(EX_USAGE,
            "--stats writes a table and no documents: leave out --resume and "
            "-o");
    reading.progress = &progress;
    cleaning.count = stats;
    cleaning.repair = (nfc ? REPAIR_NFC : 0u) |
        (controls ? REPAIR_CONTROLS : 0u) | (romanian ? REPAIR_ROMANIAN : 0u);
    return langs;
}

/* Are the inputs conversations?  Refuses other inputs beside them, and options
 * that they cannot have. */
static int
check_conversations(const struct inputs *in)
{
    const struct {
        int is;
        const char *name;
    } no[] = { { cleaning.repair != 0,
                   "--nfc, --strip-controls and --romanian" },
        { cleaning.boilerplate > 0, "--boilerplate" },
        { input.lang_field != NULL, "--lang-field" },
        { resume_dir != NULL, "--resume" } };
    size_t n = 0, other = in->n;

    for (size_t i = 0; i < in->n; i++) {
        n += (size_t)in->v[i].conversations;
        if (!in->v[i].conversations && (in->v[i].size > 0 || !in->v[i].path))
            other = i;
    }
    if (n == 0)
        return 0;
    if (other < in->n)
        die(EX_INPUT,
            "%s: does not begin with a conversation as other inputs do: clean "
            "it apart",
            input_name(&in->v[other]));
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        if (no[i].is)
            die(EX_USAGE,
                "%s: holds conversations, whose records are written as they "
                "are: leave out %s",
                input_name(&in->v[0]), no[i].name);
    return 1;
}

/* Check that the run to be resumed had the same input and options, set
 * reading.from, and write the first line.  Returns 1 if that run has written
 * documents, else 0. */
static int
begin_documents(struct cleaning *c, const struct inputs *in, uint64_t options)
{
    struct documents_run run = { .options = options ^ cleaning_digest(c) };
    struct docs_resume was = { .resumed = 0 };
    struct docs_resume_key key;
    struct err e;

    if (docs_resume_inputs(&key, in, &e) < 0)
        die_err(&e);
    run.inputs = key.inputs;
    run.options ^= key.cleaning;
    if (resume_dir &&
        (docs_resume_read(&was, resume_dir, &e) < 0 ||
            docs_resume_check(&was, resume_dir, "input of clean",
                was.key.inputs, run.inputs, &e) < 0 ||
            docs_resume_check(&was, resume_dir, "options of clean",
                was.key.cleaning, run.options, &e) < 0))
        die_err(&e);
    if (docs_resume_place(&was, resume_dir, in, &reading.from, &e) < 0)
        die_err(&e);
    run.from = was.from;
    cleaning_head(c, &run);
    return was.has_cursor;
}

static void
finish_clean(struct cleaning *c, const struct inputs *in, struct docs_sums *s)
{
    const struct stats *got = cleaning_stats(c);
    uint64_t docs = 0, bytes = 0;
    struct err e;

    docs_note(s);
    if (cleaning_end(c, &e) < 0)
        die_err(&e);
    if (stats)
        stats_print(got, in, stdout, (enum stats_format)format);
    for (size_t i = 0; i < in->nsource; i++) {
        docs += got->source[i].docs;
        bytes += got->source[i].bytes;
    }
    if (s->empty + got->empty > 0 && s->docs == got->empty)
        note("all documents are empty");
    else if (s->empty + got->empty > 0)
        vnote("%" PRIu64 " empty documents were left out",
            s->empty + got->empty);
    prog_closing("%" PRIu64 " documents, %.3f MB", docs, (double)bytes / 1e6);
}

int
main(int argc, char **argv)
{
    const struct opt opts[] = { OPT_STR('o', "output", &cleaning.output, "file",
                                    "file to write the documents to"),
        OPT_THREADS(&reading.threads), OPT_RESUME(&resume_dir),
        DOCS_OPTIONS(input, reading),
        OPT_FLAG(0, "wiki", &input.wiki, "read all input as Wikipedia dumps"),
        OPT_GROUP("repair"), OPT_FLAG(0, "nfc", &nfc, "normalise text to NFC"),
        OPT_FLAG(0, "strip-controls", &controls,
            "remove control characters and byte order marks"),
        OPT_FLAG(0, "romanian", &romanian,
            "replace cedillas of old Romanian text by commas below"),
        OPT_GROUP("rules"),
        OPT_SIZE(0, "min-chars", &cleaning.rules.min_chars, 0, 1 << 30, "n",
            "drop texts of fewer characters"),
        OPT_SIZE(0, "max-chars", &cleaning.rules.max_chars, 0, 1 << 30, "n",
            "drop texts of more characters (0: any number)"),
        OPT_SIZE(0, "min-words", &cleaning.rules.min_words, 0, 1 << 30, "n",
            "drop texts of fewer words"),
        OPT_SIZE(0, "max-words", &cleaning.rules.max_words, 0, 1 << 30, "n",
            "drop texts of more words (0: any number)"),
        OPT_FLAG(0, "gopher-repetition", &cleaning.rules.repetition,
            "drop texts that repeat themselves"),
        OPT_FLAG(0, "gopher-quality", &cleaning.rules.quality,
            "drop texts that are not prose"),
        OPT_GROUP("duplicates"),
        OPT_SIZE(0, "boilerplate", &cleaning.boilerplate, 0, 65535, "n",
            "cut lines that n earlier documents had (0: none)"),
        OPT_LIST(0, "dedup", &cleaning.dedup, "how",
            "drop duplicates: exact, minhash or minhash:BANDSxROWS"),
        OPT_SIZE(0, "mem", &cleaning.mem, 1 << 20, 1LL << 50, "bytes",
            "memory that may be used"),
        OPT_GROUP("held-out text"),
        OPT_STR(0, "hold-out", &cleaning.hold_out, "percent%:file",
            "write this share of the documents to this file, not to the "
            "output"),
        OPT_LIST(0, "exclude", &cleaning.exclude, "file",
            "drop paragraphs that share words in a row with this file's "
            "held-out texts"),
        OPT_SIZE(0, "exclude-common", &cleaning.exclude_common, 0, 1 << 30, "n",
            "words that more than n of the held-out documents share do not "
            "count (0: all count)"),
        OPT_SIZE(0, "exclude-words", &cleaning.exclude_words, 0, EXCLUDE_MOST,
            "n",
            "drop a text that shares this many words in a row with --exclude "
            "(0: 13, and 8 in a question)"),
        OPT_GROUP("reports"),
        OPT_STR(0, "dropped", &cleaning.dropped, "file",
            "write what was dropped, and why, as JSONL"),
        OPT_STR(0, "exclude-report", &cleaning.exclude_report, "file",
            "write what --exclude dropped, and the shared words"),
        OPT_FLAG(0, "stats", &stats, "print a table of the sources"),
        OPT_FORMAT(&format, stats_formats), OPT_END };
    const char *const text_field = reading.field;
    const uint64_t defaults = opt_digest(opts, aside);
    char **operand = opt_parse(argc, argv, opts,
        "clean text and drop duplicates", "[file ...]", 0, -1, NULL);
    /* 0 without options, as for documents that are not from clean. */
    uint64_t options = opt_digest(opts, aside) ^ defaults;
    const char *langs;
    int goes_on;
    struct cleaning *c;
    struct docs_sums sums;
    struct inputs in;
    struct err e;

    if (reading.limit.split) /* else --max-doc only refuses documents */
        options ^= reading.limit.most;
    langs = check_clean_options();
    input.conversations = reading.field == text_field && !input.wiki;
    if (inputs_list(&in, operand, &input, &e) < 0)
        die_err(&e);
    cleaning.conversations = reading.whole = check_conversations(&in);
    c = cleaning_new(&cleaning, langs, &in, &reading, &e);
    if (!c)
        die_err(&e);
    goes_on = begin_documents(c, &in, options);
    if (docs_run(&in, &reading, &sums, &e) < 0 ||
        (!goes_on && docs_found(&in, &sums, &e) < 0))
        die_err(&e);
    finish_clean(c, &in, &sums);
    cleaning_free(c);
    inputs_release(&in);
    out_done();
    return EX_OK;
}
