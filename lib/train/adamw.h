/* The optimiser's state, for checkpoints and plans. */
#ifndef TRAIN_ADAMW_H
#define TRAIN_ADAMW_H

#include "train/step.h"

#include <stdint.h>

/* Bytes of both moments of t's groups. */
size_t adamw_bytes(const struct tmodel *t);
/* First (which = 0) or second moment of a group: [group.n], laid out as its
 * parameters; owned by a. */
float *adamw_moment(struct adamw *a, size_t group, int which);
/* Steps that have been applied. */
uint64_t adamw_count(const struct adamw *a);
void adamw_set_count(struct adamw *a, uint64_t t);

#endif
