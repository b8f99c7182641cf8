/*
 * Head and losses, fused: logits exist only for a tile of 256 predictions at
 * a time.  For each such tile the vocabulary is cut into fixed slices; a slice
 * is one task (its logits, its part of the log-sum-exp; then its gradient and
 * the two products that need it while it is hot).
 */
#ifndef TRAIN_HEAD_LOSS_H
#define TRAIN_HEAD_LOSS_H

#include "base/mem.h"
#include "train/step.h"

struct head_loss;

/* Make work space in `a`, which may only count, for a student's head [V,d],
 * targets of the kind and width of `like`, and calls of `rows` predictions at
 * most. */
struct head_loss *head_loss_new(struct arena *a, struct pool *pool, size_t V,
    size_t d, const struct targets *like, size_t rows);
void head_loss_free(struct head_loss *h);

/*
 * Add the losses ce and kl of n predictions to *sum, their gradient to dw
 * [V,d], and write dh [n,d], the gradient at hs.  Gradients are those of sums.
 * dw NULL: no gradients are made, and dh is not written.
 *   hs [n,d]      normed states of the student
 *   ws [V,d]      its head, fp32; wt: the teacher's, for TARGETS_FINAL
 *   place [n]     tokens of `targets` that the predictions are made at
 *   target [n]    tokens that come next
 */
void head_loss_rows(struct head_loss *h, const struct loss_opt *o,
    const float *ws, const struct weight *wt, const float *hs,
    const struct targets *targets, const uint32_t *place,
    const uint32_t *target, size_t n, float *dw, float *dh,
    struct loss_sum *sum);

#endif
