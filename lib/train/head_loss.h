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

/* Work space in `a` (which may only be counting) for a student with head
 * [V,d] and targets like those of `like` (kind and width); rows:
 * predictions of a call, where they are never more. */
struct head_loss *head_loss_new(struct arena *a, struct pool *pool, size_t V,
    size_t d, const struct targets *like, size_t rows);
void head_loss_free(struct head_loss *h);

/*
 * n predictions: hs [n,d] student's normed states; targets, of the kind of
 * head_loss_new, of which prediction i is token place[i]; target [n]; heads ws
 * [V,d] fp32 and, for TARGETS_FINAL, wt.  Adds to *sum (ce, kl) and to dw
 * [V,d]; writes dh [n,d], the gradient at hs.  Gradients are of sums.  dw NULL:
 * none are made, and dh is not written.
 */
void head_loss_rows(struct head_loss *h, const struct loss_opt *o,
    const float *ws, const struct weight *wt, const float *hs,
    const struct targets *targets, const uint32_t *place,
    const uint32_t *target, size_t n, float *dw, float *dh,
    struct loss_sum *sum);

#endif
