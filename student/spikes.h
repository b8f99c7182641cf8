/* Steps that are left out because their gradient is far larger than the
 * gradients of the steps before (--skip-spikes).  Without the option the
 * functions do nothing. */
#ifndef STUDENT_SPIKES_H
#define STUDENT_SPIKES_H

#include "base/err.h"

#include <stdint.h>

struct student;
/* Open RUN/skipped.tsv.  Dies if it cannot. */
void spikes_begin(struct student *s);
/* The largest norm that the next step may have; 0: any. */
double spikes_limit(const struct student *s);
/* Count the norm of a step that was applied. */
void spikes_count(struct student *s, double norm);
/* A step that was left out. */
struct spike {
    uint64_t step, first, last; /* numbers of its first and last batch */
    double loss, norm, mean;    /* mean: of the norms before */
};
double spikes_mean(const struct student *s);
/* Record a step that `who` ("": the run) left out.  0; -1 and *e. */
int spikes_record(struct student *s, const struct spike *k, const char *who,
    struct err *e);
void spikes_close(struct student *s);

#endif
