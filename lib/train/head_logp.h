/*
 * Log probabilities of given tokens, with gradients, for losses that are
 * functions of these probabilities: preferences, policy gradients.
 *
 *   t = z / tau                     logits z = hs w^T, at temperature tau
 *   logp[i]    = t[target_i] - log sum_v exp(t_v)             nats, at most 0
 *   entropy[i] = - sum_v p_v log p_v,  p = softmax(t)         nats
 *
 * Logits exist only for one tile of predictions at a time (head_slices.h).  If
 * a call has more predictions, head_logp_grad computes the logits once more.
 *
 * Bits: a prediction's numbers depend on its row of hs, on w and on tau alone,
 * not on threads or on the other predictions.  A matrix w of another type gives
 * the bits of w widened to fp32, so a model file and the parameters read from
 * it agree to the bit.  With tau = 1 logp is sample_logp(z, sample_lse(z, V))
 * (gen/sample.h) of the same logits.
 */
#ifndef TRAIN_HEAD_LOGP_H
#define TRAIN_HEAD_LOGP_H

#include "base/mem.h"
#include "base/pool.h"
#include "model/files/weights.h"

#include <stddef.h>
#include <stdint.h>

struct head_logp;
/* Allocate work space in `a` (which may be planning) for a head [V,d] and calls
 * of at most `rows` predictions. */
struct head_logp *head_logp_new(struct arena *a, struct pool *pool, size_t V,
    size_t d, size_t rows);
/* Cap logits as config.final_cap does; 0: do not.  Call it right after
 * head_logp_new, with the same arena. */
void head_logp_cap(struct head_logp *h, struct arena *a, double cap);
/* As head_loss_bias, for head_logp_grad. */
void head_logp_bias(struct head_logp *h, float *db);
void head_logp_free(struct head_logp *h);

/* Results for n predictions; entropy and hit may be NULL. */
struct logp_out {
    float *logp;    /* [n] */
    float *entropy; /* [n] */
    uint8_t *hit;   /* [n] 1: no other token is more probable than the target */
};
/* w: head [V,d] of any type; hs [n,d]: final states; target [n] < V. */
void head_logp_rows(struct head_logp *h, const struct weight *w,
    const float *hs, const uint32_t *target, size_t n, double tau,
    const struct logp_out *out);
/* Go backward through the last head_logp_rows: from dlogp [n] = dL/dlogp and
 * dentropy [n] = dL/dentropy of a loss L, add the gradient of w to dw [V,d]
 * (NULL: not wanted) and write dh [n,d], the gradient of hs.  dentropy NULL: L
 * depends on no entropy; else head_logp_rows must have written entropies. */
void head_logp_grad(struct head_logp *h, const struct weight *w,
    const float *hs, const uint32_t *target, size_t n, double tau,
    const float *dlogp, const float *dentropy, float *dw, float *dh);

#endif
