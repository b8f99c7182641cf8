/*
 * Head and losses, fused: logits exist only for HEAD_ROWS predictions at a
 * time.  For each such tile the vocabulary is cut into fixed slices; a slice
 * is one task (its logits, its part of the log-sum-exp; then its gradient and
 * the two products that need it while it is hot).
 */
#ifndef TRAIN_HEAD_H
#define TRAIN_HEAD_H

#include "base/mem.h"
#include "train/step.h"

#define HEAD_ROWS 256

struct head_loss;

/*
 * A teacher's k most probable tokens of n predictions and what is needed to
 * know their probabilities p_i = exp((logp_i + lse[0])/tau - lse[1]) and that
 * of all the others together, its rest P = 1 - sum p_i.  KL is that of these
 * k+1 outcomes,
 *   sum p_i log(p_i/q_i) + P log(P/Q),   Q = sum of q over the others,
 * which is at most that of the whole distributions.  When rounding, or k = V,
 * leaves nothing for the rest, P = 0 and the p_i are divided by their sum.
 */
struct top_rows {
    size_t k;
    const uint32_t *ids; /* [n,k] < V, all different in a row */
    const float *logp;   /* [n,k] at temperature 1 */
    const float *lse;    /* [n,2] of the logits z, and of z/tau */
    /*
     * Instead of logp and lse, tokens drawn by chance: the share p_i of each,
     * which add up to 1, so that P = 0; p_i = 0 ends a row, ids past it count
     * for nothing.  KL is then self - sum p_i log q_i; where the shares'
     * expectations are the teacher's probabilities at tau, and self is the sum
     * of p log p of those, its expectation, and that of its gradient, are those
     * of the whole distributions (arXiv:2503.16870).
     */
    const float *share; /* [n,k] or NULL */
    const float *self;  /* [n] */
};

/* Work space in `a` (which may only be counting) for a student with head
 * [V,d] and, if dt > 0, a teacher's of [V,dt], or its `top` tokens if that is
 * not 0; rows: predictions of a call, where they are never more. */
struct head_loss *head_loss_new(struct arena *a, struct pool *pool, size_t V,
    size_t d, size_t dt, size_t top, size_t rows);
void head_loss_free(struct head_loss *h);

/*
 * n predictions: hs [n,d] student's normed states; of the teacher ht [n,dt],
 * or top, or both NULL; target [n]; heads ws [V,d] fp32 and wt.  Adds to *sum
 * (ce, kl) and to dw [V,d]; writes dh [n,d], the gradient at hs.  Gradients
 * are of sums.
 */
void head_loss_rows(struct head_loss *h, const struct loss_opt *o,
    const float *ws, const struct weight *wt, const float *hs, const float *ht,
    const struct top_rows *top, const uint32_t *target, size_t n, float *dw,
    float *dh, struct loss_sum *sum);

#endif
