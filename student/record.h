/*
 * RUN/options.json: the options of a run, its inputs, and the program that
 * began it.  A resumed run must have the same inputs, and the same options
 * that affect the result, except those that --override names.
 */
#ifndef STUDENT_RECORD_H
#define STUDENT_RECORD_H

#include "depends.h"
#include "base/err.h"
#include "cli/opt.h"
#include "format/json.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

struct record {
    const char *run;
    const char *command; /* "student dpo" */
    const struct opt *options;
    const json_t *defaults;    /* opt_values before options were parsed */
    const char *override;      /* comma-separated names that may change, or
                                * NULL */
    uint64_t step;             /* steps made; 0: the run begins */
    int over;                  /* 1: no step is left */
    double ce, kl, squarehead; /* weights chosen for losses; NAN: not known */
    size_t steps;              /* steps of the schedule; 0: it has no end */
    size_t rows, length;       /* rows of the first batch and tokens of a row;
                                * 0: there is no batch */
    int last; /* 1: the first batch is the stream's last and may be smaller */
    const struct depends *depends; /* contents */
};
/* If RUN/options.json exists, compare with it the options that determine which
 * tensors a checkpoint holds, such as --qat.  Call it before a checkpoint is
 * read.  Dies (EX_USAGE) as record_keep does. */
void record_check(const struct record *r);
/* Unless the run begins, compare *r with RUN/options.json; then write the file.
 * Dies (EX_USAGE) naming all differences; differences in r->override are only
 * noted.  Returns 0; 1: the file has not been written, because the run is over
 * and RUN holds the result of its last step. */
int record_keep(const struct record *r);
/* Record in RUN/options.json that RUN holds the result of `step`; dies on
 * errors. */
void record_finished(const char *run, uint64_t step);
/* Hash of the stream's tokenizer, sources and length of rows: the same wherever
 * in the stream reading begins. */
void record_stream(const struct stream_info *i, char hash[33]);

#endif
