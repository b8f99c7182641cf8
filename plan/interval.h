/* The likely error of a prediction: how far published runs are from their
 * predictions, and in which ways this run differs from all of them. */
#ifndef PLAN_INTERVAL_H
#define PLAN_INTERVAL_H

#include "figures.h"
#include "job.h"

/* Add the figures "likely.step.*" (seconds) and "likely.memory.*" (bytes): the
 * ranges in which 8 of 10 published runs would lie.  Add "extrapolates", the
 * number of reasons why this run may lie outside of them.  *f must have the
 * figures "step" and "memory". */
void add_interval(struct figures *f, const struct job *j);
/* Append the reasons that "extrapolates" counts, separated by commas.  Returns
 * their number. */
size_t interval_reasons(struct buf *b, const struct job *j);

#endif
