/* Reading a checkpoint's moments and counters. */
#ifndef STUDENT_LOAD_H
#define STUDENT_LOAD_H

#include "save.h"
#include "train/outer.h"

/* Load moments, counters and masks of a checkpoint; the caller has read its
 * weights by opening it as a model.  Masks that the checkpoint lacks, as the
 * run began without --mask, stay as they are.  If each rank wrote moments of
 * its own, as many ranks with `o` read their own, any others the mean of all.
 * o: takes the velocity, unless NULL. */
int load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct outer *o, struct progress_state *st, struct err *e);

#endif
