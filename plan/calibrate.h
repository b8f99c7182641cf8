/* This machine's figures, measured. */
#ifndef PLAN_CALIBRATE_H
#define PLAN_CALIBRATE_H

#include "base/mem.h"

#include <stddef.h>

/* The file of a machine (job.h) whose devices are the ranks that mpirun has
 * started, with so many threads each (0: all processors).  All ranks call it;
 * rank 0 alone gets text, and tells what is left out (note).  Takes seconds.
 * Dies when it cannot. */
void calibrate_put(struct buf *b, size_t threads);

#endif
