/*
 * Cleaning of documents: threads repair and judge texts, and then, in the order
 * of the input, duplicates and boilerplate are found and each document is
 * written, held out or dropped.
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
    size_t boilerplate;    /* documents with a line; 0: off */
    struct opt_list dedup; /* see dup_parse */
    size_t mem;            /* bytes for keys */
    const char *dropped;   /* file, or NULL */
    const char *hold_out;  /* PERCENT%:FILE, or NULL */
    struct opt_list exclude;
    size_t exclude_words;
    const char *exclude_report; /* file, or NULL */
    const char *output;         /* file; NULL or "-": standard output */
    int count;                  /* for stats; no documents are written */
};

struct cleaning;
/*
 * Check the options and open the files; run, whose inputs are in, then works
 * and puts by the cleaning.  langs: --lang auto, whose sources are added to in;
 * or NULL.  NULL and *e: EX_USAGE, EX_SYS, EX_INPUT.  in and run must not
 * move.
 */
struct cleaning *cleaning_new(const struct cleaning_opts *o, const char *langs,
    struct inputs *in, struct docs_opts *run, struct err *e);
/* XXH3-64 of the held-out text; 0 without --exclude. */
uint64_t cleaning_digest(const struct cleaning *c);
/* Write the first line of the documents. */
void cleaning_head(struct cleaning *c, const struct documents_run *run);
/* After all documents: the last line, the names of the files, and notes on what
 * was dropped.  0, or -1 and *e. */
int cleaning_end(struct cleaning *c, struct err *e);
/* Counts by source and reason. */
const struct stats *cleaning_stats(const struct cleaning *c);
void cleaning_free(struct cleaning *c);

#endif
