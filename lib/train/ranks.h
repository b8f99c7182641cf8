/*
 * Gradients and losses of a step from the rows of all ranks (dist/dist.h).
 * Every rank calls the same functions in the same order, each with its own
 * rows; a single rank may use them, too.
 *
 * Deterministic: a row is a unit, and units are summed by dist_tree, first
 * those of a message and then messages in order.  So the bits do not depend on
 * the rows of a pass.  Nor do they depend on the number of ranks n, if n is a
 * power of two and rank r has the rows r, r+n, r+2n, ... of each message.  If a
 * rank has k rows of a message, this takes memory for ceil(log2 k) copies of
 * the gradients, and for one more if a step has several messages.
 *
 * Not deterministic: rows are added in order, and gradients are summed over
 * ranks once a step, as `wire` says.
 *
 * If each rank keeps only its part of the gradients (struct share,
 * model/pass/tmodel.h), a group's gradients are summed over ranks as soon as a
 * pass has computed them, and all ranks make the same number of passes.  If
 * deterministic, gradients are summed once a message, and the copy for several
 * messages is not needed.
 *
 * If each rank has stages of the model (train/pipe.h), it adds all rows to the
 * gradients of its stages; only losses are summed over ranks.
 */
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include "dist/dist.h"
#include "train/adamw.h"
#include "train/step.h"

struct ranks_opt {
    const struct dist_group *group;
    int deterministic;
    enum dist_sum wire; /* DIST_RING or DIST_BF16 */
    size_t rows;        /* most rows that a rank has of a message */
    size_t messages;    /* most messages of a step */
};
struct ranks;
/* If adamw_in_parts(a), ranks_finish leaves each rank with the gradients of its
 * part only.  With several ranks, or if deterministic, t's gradients
 * must be fp32.  Sets t->take if each rank keeps only its part of the
 * gradients. */
struct ranks *ranks_new(const struct ranks_opt *o, struct step *s,
    struct tmodel *t, const struct adamw *a, struct pool *pool);
void ranks_free(struct ranks *x);
/* Bytes of memory that x touches. */
size_t ranks_bytes(const struct ranks *x);

/* Add the losses and gradients of rows first, first + stride, ... of r: call
 * step_add for each. */
void ranks_add(struct ranks *x, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, size_t first, size_t stride,
    struct loss_sum *sum);
/* Sum gradients and losses over all ranks.  Call it after the last ranks_add of
 * a step and before adamw_step, in place of step_flush. */
void ranks_finish(struct ranks *x, struct loss_sum *sum);
/* Relative error |rounded - g| / |g| of the first sum over ranks of the first
 * block's gradient: `rounded` is this sum by DIST_BF16, g by DIST_TREE.  0
 * without DIST_BF16, and before that sum. */
double ranks_rounding(const struct ranks *x);

#endif
