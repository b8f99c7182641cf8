/* Files of a profile, but for its Hessians: see hess_out.h for these. */
#ifndef PRUNE_PROFILE_WRITE_H
#define PRUNE_PROFILE_WRITE_H

#include "profile_sums.h"
#include "base/err.h"

/* Fields of profile.json beside the sums. */
struct profile_about {
    const char *model, *hash, *compute; /* hash: of model_hash */
    const char *tokenizer;              /* hash; NULL: unknown */
    size_t parts;                       /* profiles that were added up, or 1 */
    int hessian;                        /* the Hessians are in the folder */
};
int profile_write(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e);

#endif
