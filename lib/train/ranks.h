/*
 * Gradients and losses of a step from the rows of all ranks (dist/dist.h).
 * Every rank calls the same functions in the same order, each with rows of its
 * own; one rank alone may use them too.
 *
 * Deterministic: a row is a unit, and units are summed by dist_tree, those of
 * a message first and then messages in order.  So neither the rows of a pass
 * nor, as long as they are a power of two, the number of ranks matters to the
 * bit, if rank r of n has the rows r, r+n, r+2n, ... of each message.  This
 * takes a copy of the gradients for each doubling of the rows that a rank has
 * of a message, and one more where a step has several messages.
 *
 * Otherwise rows are added in order, and ranks are summed once a step, in the
 * way of `wire`.
 *
 * Where each rank keeps the gradients of its part of the model alone (struct
 * share, model/backward.h), those of a group are summed as soon as a pass has
 * made them, and all ranks make the same number of passes; when deterministic,
 * they are summed once a message, and only the doublings take copies.
 *
 * Where each rank has stages of the model (train/pipe.h), it adds all rows to
 * the gradients of its stages; only losses are summed over ranks.
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
/* Where a has moments in parts, ranks_finish leaves each rank with the
 * gradients of its part alone.  t's gradients are fp32; t->take is set. */
struct ranks *ranks_new(const struct ranks_opt *o, struct step *s,
    struct tmodel *t, const struct adamw *a, struct pool *pool);
void ranks_free(struct ranks *x);
/* Bytes that it touches. */
size_t ranks_bytes(const struct ranks *x);

/* Call step_add for the rows first, first + stride, ... of r. */
void ranks_add(struct ranks *x, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, size_t first, size_t stride,
    struct loss_sum *sum);
/* Sum gradients and losses over all ranks: after the last ranks_add of a step,
 * before adamw_step, in place of step_flush. */
void ranks_finish(struct ranks *x, struct loss_sum *sum);
/* |rounded - g| / |g| of the first block's gradient in the first step, as
 * DIST_BF16 and as DIST_TREE have it; 0 without DIST_BF16, and before. */
double ranks_rounding(const struct ranks *x);

#endif
