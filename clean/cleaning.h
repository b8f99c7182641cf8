/*
 * Cleaning of documents.  Threads repair and judge texts.  Then, in the order
 * of the input, duplicates and boilerplate are found, and each document is
 * written, held out or dropped.  A conversation is judged by what it says
 * (conversation.h), and its record is written as it is.
 */
#ifndef CLEAN_CLEANING_H
#define CLEAN_CLEANING_H

#include "duplicates.h"
#include "exclude.h"
#include "repair.h"
#include "rules.h"
#include "stats.h"

#include "docs/docs.h"

struct cleaning_opts {
    unsigned repair; /* REPAIR_ bits */
    struct rules rules;
    size_t boilerplate;    /* documents in which a line is kept; 0: off */
    struct opt_list dedup; /* see dup_parse */
    size_t mem; /* bytes for the keys of duplicates and boilerplate together */
    const char *dropped;  /* file, or NULL */
    const char *hold_out; /* PERCENT%:FILE, or NULL */
    struct opt_list exclude;
    size_t exclude_words, exclude_common; /* see exclude_new */
    const char *exclude_report;           /* file, or NULL */
    const char *output; /* file; NULL or "-": standard output */
    int count;          /* --stats: count, write no documents */
    int conversations;  /* 1: all input is records of conversations */
};

struct cleaning;
/*
 * Check the options, open the files, and set `work` and `put` of *run.  langs:
 * the value of --lang auto, whose languages become sources of *in; or NULL.
 * *in and *run must outlive the result and not move.  NULL and *e: EX_USAGE,
 * EX_SYS, EX_INPUT.
 */
struct cleaning *cleaning_new(const struct cleaning_opts *o, const char *langs,
    struct inputs *in, struct docs_opts *run, struct err *e);
/* exclude_digest of the held-out text; 0 without --exclude. */
uint64_t cleaning_digest(const struct cleaning *c);
/* Write the first line of the files of documents and of held-out documents. */
void cleaning_head(struct cleaning *c, const struct documents_run *run);
/* After all documents: write the last line, give the files their names, and
 * note what was dropped.  0, or -1 and *e. */
int cleaning_end(struct cleaning *c, struct err *e);
/* Counts by source and reason. */
const struct stats *cleaning_stats(const struct cleaning *c);
void cleaning_free(struct cleaning *c);

#endif
