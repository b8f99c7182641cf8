/* Gradients of the losses, for `prune profile --gradient`. */
#ifndef PRUNE_PROFILE_GRAD_H
#define PRUNE_PROFILE_GRAD_H

#include "calib.h"
#include "profile_sums.h"

/* Bytes of memory beside the model. */
size_t gradients_bytes(const struct model *m, const struct calib *c,
    struct pool *pool);
/* Fill `grad` of all inputs of s; it is NULL before.  Dies. */
void gradients_walk(struct profile_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool);

#endif
