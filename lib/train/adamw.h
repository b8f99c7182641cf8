/* The optimiser's state, for checkpoints and plans. */
#ifndef TRAIN_ADAMW_H
#define TRAIN_ADAMW_H

#include "dist/dist.h"
#include "train/step.h"

#include <stdint.h>

/* As adamw_new, over the ranks of g (NULL: this one alone): each has the
 * moments of a part of every group, and adamw_step updates it from its
 * gradients there and gives the new parameters to all; the norm is that of all
 * parts.  even: parts, and what the norm is summed by, are cut finer, which
 * changes the norm's last bits, but then no number of ranks does; always so
 * when g has more than one, but of a model in stages. */
struct adamw *adamw_new_parts(const struct tmodel *t, enum dtype moments,
    const struct dist_group *g, int even);
/* Is there more than one part? */
int adamw_in_parts(const struct adamw *a);
/* Where they begin: rank r has elements [r]..[r+1] of the group, of [n+1];
 * owned by a. */
const size_t *adamw_part(const struct adamw *a, size_t group);
/* Which of them this process has, and its elements. */
size_t adamw_rank(const struct adamw *a);
size_t adamw_own(const struct adamw *a, size_t group);
/* Bytes of both moments of t's groups. */
size_t adamw_bytes(const struct tmodel *t, enum dtype moments);
enum dtype adamw_dtype(const struct adamw *a);
/* First (which = 0) or second moment of a group, or of its part: [group.n] of
 * that type, laid out as its parameters; owned by a. */
void *adamw_moment(struct adamw *a, size_t group, int which);
/* |rounded - m| / |m| over all moments of the first step since adamw_new; 0
 * for fp32 and before. */
double adamw_rounding(const struct adamw *a);
/* Steps that have been applied. */
uint64_t adamw_count(const struct adamw *a);
void adamw_set_count(struct adamw *a, uint64_t t);

#endif
