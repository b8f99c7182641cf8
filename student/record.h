/*
 * RUN/options.json: the options of a run, its inputs, and the program that
 * began it.  A resumed run must have the same.
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
    const json_t *defaults;    /* record_values before options were parsed */
    const char *override;      /* comma-separated names that may change, or
                                * NULL */
    uint64_t step;             /* steps made; 0: the run begins */
    int over;                  /* 1: no step is left to be made */
    double ce, kl, squarehead; /* weights chosen for losses; NAN: not known */
    size_t steps;              /* steps of the schedule; 0: it has no end */
    size_t rows, length;       /* of the first batch; 0: there is no batch, and
                                * `teacher` is not known if it is "" */
    int last; /* 1: the first batch is the stream's last and may be smaller */
    char model[33], stream[33], teacher[33], eval[33]; /* hashes; "": none */
};
/* Values of options by name; the caller releases it (json_decref). */
json_t *record_values(const struct opt *options);
/* Unless the run begins, compare *r with the file: die (EX_USAGE) naming all
 * differences, but only note those in r->override.  Then write the file and
 * return 0; or leave it and return 1: the run is over, and RUN holds the result
 * of its last step. */
int record_keep(const struct record *r);
/* Record in the file that RUN holds the result of that step; dies on errors. */
void record_finished(const char *run, uint64_t step);
/* Hash of what does not depend on where in a stream reading begins: tokenizer,
 * sources, length of rows. */
void record_stream(const struct stream_info *i, char hash[33]);

#endif
