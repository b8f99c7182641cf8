/* Times measured here: a step of student and teacher by a few of their
 * blocks. */
#ifndef PLAN_MEASURE_H
#define PLAN_MEASURE_H

#include "process.h"
#include "base/pool.h"
#include "model/config.h"

/* Adds "time.*", seconds of a step.  Blocks: m [c.L], t [teacher.L] or NULL. */
void measure_step(struct figures *f, const struct config *c,
    const struct block_shape *m, const struct config *teacher,
    const struct block_shape *t, const struct process *o, struct pool *pool);

#endif
