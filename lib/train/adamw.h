/* The optimiser's state, for checkpoints and plans. */
#ifndef TRAIN_ADAMW_H
#define TRAIN_ADAMW_H

#include "train/step.h"

#include <stdint.h>

/* Bytes of both moments of t's groups. */
size_t adamw_bytes(const struct tmodel *t, enum dtype moments);
enum dtype adamw_dtype(const struct adamw *a);
/* First (which = 0) or second moment of a group: [group.n] of that type, laid
 * out as its parameters; owned by a. */
void *adamw_moment(struct adamw *a, size_t group, int which);
/* |rounded - m| / |m| over all moments of the first step since adamw_new; 0
 * for fp32 and before. */
double adamw_rounding(const struct adamw *a);
/* Steps that have been applied. */
uint64_t adamw_count(const struct adamw *a);
void adamw_set_count(struct adamw *a, uint64_t t);

#endif
