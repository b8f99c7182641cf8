/* Reading a checkpoint's moments and counters. */
#ifndef STUDENT_LOAD_H
#define STUDENT_LOAD_H

#include "save.h"

/* Load moments, counters and masks of a checkpoint; the caller has read its
 * weights by opening it as a model.  Masks that the checkpoint lacks, as the
 * run began without --mask, stay as they are. */
int load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct progress_state *st, struct err *e);

#endif
