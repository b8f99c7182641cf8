/* The files of a profile: prune-profile(1) describes them. */
#ifndef PRUNE_PROFILE_WRITE_H
#define PRUNE_PROFILE_WRITE_H

#include "profile_sums.h"
#include "base/err.h"
#include "base/io.h"

/* Fields of profile.json beside the sums. */
struct profile_about {
    const char *model, *hash, *compute; /* hash: of model_hash */
    const char *tokenizer;              /* hash; NULL: unknown */
    size_t parts;                       /* profiles that were added up, or 1 */
    int hessian;                        /* the Hessians are in the folder */
};
/* Write all files but the Hessians, which are in folder dir already. */
int profile_write(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e);

/* Floats of all Hessians of a block whose inputs have widths n [FWD_INPUTS]. */
size_t hess_floats(const size_t *n);
/* Begin file `path` for Hessians of widths [L,FWD_INPUTS]: its header.  The
 * floats of each block follow, in order of input, by io_out_write. */
int hess_out_begin(struct io_out *o, const char *path, const size_t *width,
    size_t L, struct err *e);

#endif
