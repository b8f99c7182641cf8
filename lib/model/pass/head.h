/* Logits, and scores of predictions, from final hidden states. */
#ifndef MODEL_HEAD_H
#define MODEL_HEAD_H

#include "model/pass/forward.h"

#include <stddef.h>
#include <stdint.h>

/* logits [n,V] of n final (normed) hidden states h [n,d]. */
void fwd_head(struct fwd *f, const float *h, size_t n, float *logits);

/* From this call on, drop the head's pages after reading if they are mapped
 * from a file.  For few predictions of a large vocabulary. */
void fwd_forget_head(struct fwd *f);

/*
 * Scores of n predictions from final hidden states h [n,d], without an [n,V]
 * array.  target [n] may be NULL if nll is; each output may be NULL:
 *   nll[i]  = -log softmax(z_i)[target_i]          nats
 *   lse[i]  = log sum exp(z_i)
 *   top[i]  = argmax z_i (lowest index on ties)
 */
void head_score(struct fwd *f, const float *h, const uint32_t *target, size_t n,
    double *nll, double *lse, uint32_t *top);
/*
 * Scores of two models: f's is judged (q), base's is the base (p).  Only ids
 * below V count, which both models have; for a target of V or more nll_q and
 * nll_p are undefined.  For each prediction
 *   nll_q, nll_p = -log softmax of zq, zp at the target       nats
 *   kl    = KL(softmax(zp/tau) || softmax(zq/tau))   nats, not times tau^2
 *   back  = KL(softmax(zq/tau) || softmax(zp/tau))
 *   agree = 1: both have the same argmax
 *   accept = sum over ids of min(p, q) at temperature 1
 */
struct pair_score {
    double nll_q, nll_p, kl, back;
    double accept; /* set by head_score_draft alone; else NAN */
    int agree;
};
void head_score_pair(struct fwd *f, const float *hq, struct fwd *base,
    const float *hp, size_t V, const uint32_t *target, size_t n, double tau,
    struct pair_score *out);
/* The scores of head_score_pair, equal to the bit, with the base's logits zp
 * [n,V] (from fwd_head) in place of base: for many models against one base. */
void head_score_logits(struct fwd *f, const float *hq, const float *zp,
    const uint32_t *target, size_t n, double tau, struct pair_score *out);

/* head_score_pair with tau 1, and `accept`, the share of a draft's tokens (q)
 * that speculative sampling accepts (Leviathan et al., arXiv:2211.17192,
 * theorem 3.5).  `accept` needs the log-sum-exps of both models' rows, so the
 * logits of some rows are kept in `room`; head_draft_room(most) floats are
 * enough if V is `most` or less. */
void head_score_draft(struct fwd *f, const float *hq, struct fwd *base,
    const float *hp, size_t V, const uint32_t *target, size_t n, float *room,
    struct pair_score *out);
size_t head_draft_room(size_t most);
/* `accept` of two rows of logits [V] with their log-sum-exps; min [V] is
 * scratch, and may be zq. */
double head_accept(const float *zq, double lse_q, const float *zp, double lse_p,
    size_t V, float *min);

#endif
