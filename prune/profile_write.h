/* Writes the files of a profile, which prune-profile(1) describes. */
#ifndef PRUNE_PROFILE_WRITE_H
#define PRUNE_PROFILE_WRITE_H

#include "profile_sums.h"
#include "base/err.h"
#include "base/io.h"

/* Fields of profile.json other than sums. */
struct profile_about {
    const char *model, *hash, *compute; /* hash: from model_hash */
    const char *tokenizer;              /* hash of the tokenizer; NULL:
                                         * unknown */
    size_t parts;                       /* number of profiles added up, or 1 */
    int hessian;                        /* the folder has Hessians */
};
/* Write all files except the Hessians, which are in folder dir already. */
int profile_write(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e);

/* Number of floats in the Hessians of a block whose inputs have widths n
 * [FWD_INPUTS]. */
size_t hess_floats(const size_t *n);
/* Begin the file `path` for Hessians of inputs whose widths are in `width`
 * [L,FWD_INPUTS], by writing its header.  The caller then adds each block's
 * floats by io_out_write, in order of input. */
int hess_out_begin(struct io_out *o, const char *path, const size_t *width,
    size_t L, struct err *e);

#endif
