/*
 * One process of student on this machine, and its teacher: memory to the byte
 * by the code that allocates, operations a token; and, if asked, the time of a
 * step, measured with a few of the blocks.
 */
#ifndef PLAN_PROCESS_H
#define PLAN_PROCESS_H

#include "figures.h"
#include "model/effective.h"

#include <stddef.h>

/* As options of plan(1). */
struct process {
    const char *model, *teacher; /* teacher NULL: none */
    size_t rows, T, micro, threads, top;
    int recompute, compute, act, grad, moments, measure;
    struct effective effective; /* of --qat and --mask */
    double tokens;              /* of the run; 0: not asked */
};

/* Of one of the ranks that a launcher has started (dist_begin), if it has: rows
 * are divided among them.  Dies of models that cannot be read. */
void process_predict(struct figures *f, const struct process *o);

#endif
