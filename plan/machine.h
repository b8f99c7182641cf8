/* Machines: files of figures, each with its source. */
#ifndef PLAN_MACHINE_H
#define PLAN_MACHINE_H

#include "job.h"
#include "base/err.h"

/* Set the figures of j->m from a shipped machine or a file, each of whose
 * members is [number, "source"].  A figure that is optional and not in the file
 * keeps its value.  -1 and *e: the file lacks another figure, has a figure that
 * is not known, or one without its source. */
int machine_open(struct job *j, const char *name, struct err *e);

#endif
