/*
 * The prediction for a process of student on this machine, and for its teacher:
 * memory to the byte, by the code that allocates it; FLOP of a token; and, if
 * asked for, the time of a step, measured with a few of the blocks.
 */
#ifndef PLAN_PROCESS_H
#define PLAN_PROCESS_H

#include "common.h"
#include "figures.h"
#include "model/effective.h"

#include <stddef.h>

/* Options of plan-run(1). */
struct process {
    struct common in;
    size_t threads;
    int compute, act, grad, moments;
    int measure;                /* 1: time a step */
    struct effective effective; /* set by --qat and --mask */
};

/* Add the figures of this process or, under a launcher (dist_begin), of one
 * rank, with rows divided among ranks.  Dies if a model cannot be read. */
void process_predict(struct figures *f, const struct process *o);

#endif
