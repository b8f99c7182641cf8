/* Sums of profiles: `prune profile --add`. */
#ifndef PRUNE_PROFILE_MERGE_H
#define PRUNE_PROFILE_MERGE_H

#include "profile_read.h"

/* Write the sum of profiles p[n], n > 0, into folder dir.  -1 and *e
 * (EX_INPUT): one is damaged, or they differ in model, --compute or tokenizer,
 * or only some have Hessians or gradients. */
int profile_merge(const struct profile *p, size_t n, const char *dir,
    struct err *e);

#endif
