/* How far a prediction may be off: the spread of published runs around what
 * plan predicts for them, and what no published run was like. */
#ifndef PLAN_INTERVAL_H
#define PLAN_INTERVAL_H

#include "figures.h"
#include "job.h"

/* Add the figures "likely.step.*" (seconds) and "likely.memory.*" (bytes),
 * between which 8 of 10 published runs would lie, and "extrapolates", the
 * number of reasons why this run may not.  *f has "step" and "memory". */
void add_interval(struct figures *f, const struct job *j);
/* Append these reasons, separated by commas; nothing if there are none.
 * Returns their number. */
size_t interval_reasons(struct buf *b, const struct job *j);

#endif
