/*
 * Head and losses, fused: logits exist only for one tile of predictions at a
 * time (head_slices.h).  For each tile the vocabulary is cut into fixed slices.
 * Each slice is a task, twice: first its logits and its part of the log-sum-exp
 * are computed; then its gradient and, while that is in the cache, the two
 * products that use it.
 */
#ifndef TRAIN_HEAD_LOSS_H
#define TRAIN_HEAD_LOSS_H

#include "base/mem.h"
#include "train/step.h"

struct head_loss;

/* Allocate work space in `a` (which may be planning) for a student's head
 * [V,d], targets of the kind and width of `like`, and calls of at most `rows`
 * predictions.  widen: the head may have another type than fp32. */
struct head_loss *head_loss_new(struct arena *a, struct pool *pool, size_t V,
    size_t d, const struct targets *like, size_t rows, int widen);
/* Cap the student's logits at `own` and, for TARGETS_FINAL, the teacher's at
 * `told`, as config.final_cap does; 0: do not.  Call it right after
 * head_loss_new, with the same arena. */
void head_loss_caps(struct head_loss *h, struct arena *a, double own,
    double told);
/* Let later calls of head_loss_rows add the gradient of the head's bias to db
 * [V]; NULL: the head has none, or it is not trained. */
void head_loss_bias(struct head_loss *h, float *db);
void head_loss_free(struct head_loss *h);

/*
 * Add the losses ce, kl and z of n predictions to *sum.  Add the head's
 * gradient to dw [V,d], and write dh [n,d], the gradient at hs; both of sums of
 * losses, not of means.  dh NULL: no gradients are computed; dw NULL: dh alone.
 *   hs [n,d]      final states of the student
 *   ws [V,d]      the student's head; wt: the teacher's, for TARGETS_FINAL
 *   place [n]     index in `targets` of each prediction's token
 *   target [n]    ids of the next tokens
 */
void head_loss_rows(struct head_loss *h, const struct loss_opt *o,
    const struct weight *ws, const struct weight *wt, const float *hs,
    const struct targets *targets, const uint32_t *place,
    const uint32_t *target, size_t n, float *dw, float *dh,
    struct loss_sum *sum);

#endif
