/* Machines: files of figures, each with its source. */
#ifndef PLAN_MACHINE_H
#define PLAN_MACHINE_H

#include "job.h"
#include "base/err.h"

/* Set the figures of j->m from a shipped machine or a file.  Each member of the
 * file is [number, "source"].  Optional figures that it leaves out stay as they
 * are.  -1 and *e: a figure is missing, unknown or without a source. */
int machine_open(struct job *j, const char *name, struct err *e);

#endif
