/* Machines: files of figures, each with its source. */
#ifndef PLAN_MACHINE_H
#define PLAN_MACHINE_H

#include "job.h"
#include "base/err.h"

/* Set the figures of j->m from a shipped machine or a file, whose members are
 * [number, "source"].  Optional figures that it lacks keep their values.  -1
 * and *e: another figure is missing, one is unknown, or one has no source. */
int machine_open(struct job *j, const char *name, struct err *e);

#endif
