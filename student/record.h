/*
 * RUN/options.json: every option of a run, what it trains on, and the program
 * that began it.  A run is continued as it was begun.
 */
#ifndef STUDENT_RECORD_H
#define STUDENT_RECORD_H

#include "base/err.h"
#include "cli/opt.h"
#include "format/json.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

struct record {
    const char *run;
    const struct opt *options;
    const json_t *defaults;    /* record_values before they were parsed */
    const char *override;      /* names that may change, with commas, or NULL */
    uint64_t step;             /* steps made; 0: the run begins */
    int over;                  /* no step is left to be made */
    double ce, kl, squarehead; /* weights, chosen; NAN: not known */
    size_t steps;              /* steps of the schedule; 0: it has no end */
    size_t rows, length;       /* of the first batch; 0: there is none, so that
                                * an empty `teacher` is not known either */
    int last; /* the first batch is the stream's last and may have fewer rows */
    char model[33], stream[33], teacher[33], eval[33]; /* hashes; "": none */
};
/* Values of options by name, to be released by json_decref. */
json_t *record_values(const struct opt *options);
/* Compare what is known with what the run was begun with, unless it begins:
 * die(EX_USAGE) with all that differ and are not in r->override, note those
 * that are.  Then write the file and return 0, or leave it and return 1: the
 * run is over, and its result in RUN is that of its last step. */
int record_keep(const struct record *r);
/* Add to the file that RUN holds the result of that step, or die. */
void record_finished(const char *run, uint64_t step);
/* Hash of what a stream is, wherever it is taken up: tokenizer, sources, length
 * of rows. */
void record_stream(const struct stream_info *i, char hash[33]);

#endif
