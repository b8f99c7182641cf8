/* Logits, and scores of predictions, from final hidden states. */
#ifndef MODEL_HEAD_H
#define MODEL_HEAD_H

#include "model/forward.h"

#include <stddef.h>
#include <stdint.h>

/* logits [n,V] of n final (normed) hidden states h [n,d]. */
void fwd_head(struct fwd *f, const float *h, size_t n, float *logits);

/* From here on pages of the head that are mapped from a file are dropped after
 * reading: for few predictions of a large vocabulary. */
void fwd_forget_head(struct fwd *f);

/*
 * Scores of n predictions from final hidden states, without an [n,V] array.
 * h [n,d]; target [n], may be NULL with nll; out arrays may be NULL.
 *   nll[i]  = -log softmax(z_i)[target_i]          nats
 *   lse[i]  = log sum exp(z_i)
 *   top[i]  = argmax z_i (lowest index on ties)
 */
void head_score(struct fwd *f, const float *h, const uint32_t *target, size_t n,
    double *nll, double *lse, uint32_t *top);
/*
 * Scores of two models, f's (the one judged, q) and base's (p), over the ids
 * below V, which both have; a target of V or more has no nll.  For each
 * prediction
 *   kl[i]   = KL(softmax(zp/tau) || softmax(zq/tau))   nats, not times tau^2
 *   back[i] = KL(softmax(zq/tau) || softmax(zp/tau))
 *   agree[i]= argmax equal
 */
struct pair_score {
    double nll_q, nll_p, kl, back;
    int agree;
};
void head_score_pair(struct fwd *f, const float *hq, struct fwd *base,
    const float *hp, size_t V, const uint32_t *target, size_t n, double tau,
    struct pair_score *out);
/* The scores of head_score_pair, equal to the bit, from the base's logits zp
 * [n,V] of fwd_head: for many models against one base. */
void head_score_logits(struct fwd *f, const float *hq, const float *zp,
    const uint32_t *target, size_t n, double tau, struct pair_score *out);

#endif
