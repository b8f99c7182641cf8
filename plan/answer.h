/* The last three lines of plan run --tokens: memory and whether it suffices,
 * time, disk. */
#ifndef PLAN_ANSWER_H
#define PLAN_ANSWER_H

#include "figures.h"
#include "process.h"
#include "base/mem.h"

/* Append three lines about the run of p->in.tokens tokens whose figures are
 * *f. */
void answer_put(struct buf *b, const struct figures *f,
    const struct process *p);

#endif
