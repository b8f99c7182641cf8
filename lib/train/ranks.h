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
 * Otherwise rows are added in order and ranks as `wire` says, once a step.
 *
 * Where each rank keeps the gradients of its part of the model alone (struct
 * share, model/backward.h) a group's are summed as soon as they are made, that
 * is once a pass, of which all ranks make as many; when deterministic, once a
 * message, with its last row, and only the doublings take copies.
 *
 * Where each rank has stages of the model (train/pipe.h) it adds all rows, to
 * the gradients of its own; only losses are summed over ranks.
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
    size_t rows;        /* of a message and rank, at most */
    size_t messages;    /* of a step, at most */
};
struct ranks;
/* a: if its moments are parts, ranks_finish leaves each rank with the gradients
 * of its part alone.  t's gradients are fp32; from here on t->take is this. */
struct ranks *ranks_new(const struct ranks_opt *o, struct step *s,
    struct tmodel *t, const struct adamw *a, struct pool *pool);
void ranks_free(struct ranks *x);
/* Memory it will have touched. */
size_t ranks_bytes(const struct ranks *x);

/* As step_add, of the rows first, first + stride, ... of r. */
void ranks_add(struct ranks *x, const struct rows *r, const uint8_t *scored,
    const struct targets *targets, size_t first, size_t stride,
    struct loss_sum *sum);
/* After the last ranks_add of a step, before adamw_step, in place of
 * step_flush: sums are those of all ranks. */
void ranks_finish(struct ranks *x, struct loss_sum *sum);
/* |rounded - g| / |g| of the first block's gradient in the first step, as
 * DIST_BF16 and as DIST_TREE have it; 0 without DIST_BF16, and before. */
double ranks_rounding(const struct ranks *x);

#endif
