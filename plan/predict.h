/*
 * The prediction: memory of the fullest rank (memory.h), time of a step
 * (step.h), and from these rates, days, energy and cost.  retort-plan(7) has
 * the formulas, their sources, and comparisons with published figures.
 */
#ifndef PLAN_PREDICT_H
#define PLAN_PREDICT_H

#include "figures.h"
#include "job.h"

/* Set *f to all figures of j, a job with a machine that job_check accepts. */
void predict(struct figures *f, const struct job *j);

/* How far published runs are from their predictions, and in which ways this run
 * differs from all of them: interval.c. */

/* measured / predicted time.  With an anchor: 8 of 10 published runs are within
 * these factors, if another run of the same group is the anchor (96 runs in 6
 * groups).  Without one, on a machine without published runs: a guess. */
#define ANCHOR_LOW 0.88
#define ANCHOR_HIGH 1.14
#define UNKNOWN_LOW 0.5
#define UNKNOWN_HIGH 2.0

/* Add the figures "likely.step.*" (seconds), "likely.allocated.*" and
 * "likely.memory.*" (bytes): the ranges in which 8 of 10 published runs would
 * lie.  The range of "allocated" has the factors of that of "memory", because
 * too few runs publish allocated memory.  Also add "extrapolates", the number
 * of reasons why this run may lie outside of the ranges.  *f must have the
 * figures "step", "allocated" and "memory". */
void add_interval(struct figures *f, const struct job *j);
/* Append the reasons that "extrapolates" counts, separated by commas.  Returns
 * their number. */
size_t interval_reasons(struct buf *b, const struct job *j);
/* Print a note that lists these reasons, if there are any. */
void interval_note(const struct job *j);

#endif
