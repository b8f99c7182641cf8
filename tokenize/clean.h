/*
 * Cleaning of documents before they are encoded: lines that many documents
 * have, language, length, the rules of Gopher, duplicates.  What is dropped
 * is counted by reason and can be kept in a file of JSONL.
 */
#ifndef TOKENIZE_CLEAN_H
#define TOKENIZE_CLEAN_H

#include "exclude.h"
#include "docs/docs.h"
#include "cli/opt.h"

struct clean_opts {
    size_t min_chars, max_chars, min_words, max_words; /* 0: no bound */
    int repetition, quality;                           /* rules of Gopher */
    size_t boilerplate;    /* documents with a line; 0: off */
    struct opt_list dedup; /* "exact", "minhash[:BANDSxROWS]" */
    size_t mem;            /* bytes for keys */
    const char *dropped;   /* file, or NULL */
    const char *hold_out;  /* PERCENT%:FILE, or NULL */
    struct opt_list exclude;
    size_t exclude_words;
    const char *exclude_report; /* file, or NULL */
};

#define CLEAN_OPTS                                                \
    {                                                             \
        .mem = (size_t)256 << 20, .exclude_words = EXCLUDE_WORDS, \
    }
/* Rows of the option table for struct clean_opts c. */
#define CLEAN_OPTIONS(c)                                                       \
    OPT_GROUP("cleaning"),                                                     \
        OPT_SIZE(0, "min-chars", &(c).min_chars, 0, 1 << 30, "n",              \
            "drop texts of fewer characters"),                                 \
        OPT_SIZE(0, "max-chars", &(c).max_chars, 0, 1 << 30, "n",              \
            "drop texts of more (0: keep them)"),                              \
        OPT_SIZE(0, "min-words", &(c).min_words, 0, 1 << 30, "n",              \
            "drop texts of fewer words"),                                      \
        OPT_SIZE(0, "max-words", &(c).max_words, 0, 1 << 30, "n",              \
            "drop texts of more (0: keep them)"),                              \
        OPT_FLAG(0, "gopher-repetition", &(c).repetition,                      \
            "drop texts that repeat themselves"),                              \
        OPT_FLAG(0, "gopher-quality", &(c).quality,                            \
            "drop texts that are not prose"),                                  \
        OPT_SIZE(0, "boilerplate", &(c).boilerplate, 0, 65535, "n",            \
            "cut lines that n documents before had (0: none)"),                \
        OPT_LIST(0, "dedup", &(c).dedup, "how",                                \
            "drop duplicates: exact, minhash or minhash:BANDSxROWS"),          \
        OPT_SIZE(0, "mem", &(c).mem, 1 << 20, 1LL << 50, "bytes",              \
            "memory for keys of duplicates; more goes to TMPDIR"),             \
        OPT_STR(0, "dropped", &(c).dropped, "file",                            \
            "write what was dropped, and why, as JSONL"),                      \
        OPT_STR(0, "hold-out", &(c).hold_out, "percent%:file",                 \
            "put that share of the documents there, as JSONL, instead"),       \
        OPT_LIST(0, "exclude", &(c).exclude, "file",                           \
            "drop texts that share words in a row with this held-out one"),    \
        OPT_SIZE(0, "exclude-words", &(c).exclude_words, 1, EXCLUDE_MOST, "n", \
            "so many words in a row"),                                         \
        OPT_STR(0, "exclude-report", &(c).exclude_report, "file",              \
            "write which they were, and the words, as TSV")

/* Is --lang the word `auto`, perhaps with names? */
int clean_lang_auto(const char *lang);

struct clean;
/*
 * Check options and hook into run, whose inputs are in; sources that --lang
 * auto may give are added to in.  lang: NULL, or as in clean_lang_auto.  NULL
 * and *e: EX_USAGE, EX_SYS.  in and run must stay where they are.
 */
struct clean *clean_begin(const struct clean_opts *o, const char *lang,
    struct inputs *in, struct docs_opts *run, struct err *e);
/* After all documents: give the file of dropped ones its name and say what
 * was dropped.  0, or -1 and *e. */
int clean_end(struct clean *c, struct err *e);
void clean_free(struct clean *c);

/* What --exclude adds to the hash of the options; 0 without it. */
uint64_t clean_digest(const struct clean *c);

/* Documents dropped of a source. */
uint64_t clean_dropped(const struct clean *c, size_t source);
/* Reasons are numbered from 0; NULL after the last one. */
const char *clean_reason(size_t reason);
uint64_t clean_count(const struct clean *c, size_t reason);
/* Lines that were cut as boilerplate. */
uint64_t clean_lines(const struct clean *c);

#endif
