/* The walk of `prune profile` through the blocks of a model. */
#ifndef PRUNE_PROFILE_WALK_H
#define PRUNE_PROFILE_WALK_H

#include "calib.h"
#include "profile_sums.h"

struct walk_opt {
    int hessian;      /* write Hessians too */
    size_t limit;     /* bytes of memory to use at most */
    double tolerance; /* largest accepted hess_off */
};
/* Fill *s, which profile_sums_release frees; Hessians are written to folder
 * `dir`.  Dies. */
void profile_walk(struct profile_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool, const struct walk_opt *o,
    const char *dir);

#endif
