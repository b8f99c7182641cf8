/* The time of a step of student and teacher, measured with a few blocks. */
#ifndef PLAN_MEASURE_H
#define PLAN_MEASURE_H

#include "process.h"
#include "base/pool.h"
#include "model/config.h"

/* Add the figures "time.*", seconds of a step.  m [c->L] and t [teacher->L] are
 * the blocks of student and teacher; teacher and t are NULL if there is none.
 */
void measure_step(struct figures *f, const struct config *c,
    const struct block_shape *m, const struct config *teacher,
    const struct block_shape *t, const struct process *o, struct pool *pool);

#endif
