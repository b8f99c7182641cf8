/* Targets of distillation from final states: the most probable tokens, or
 * random draws (format/targets.h). */
#ifndef MODEL_HEAD_TOP_H
#define MODEL_HEAD_TOP_H

#include "base/pool.h"
#include "model/forward.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Targets of n predictions from their final states h [n,d]: the k most probable
 * tokens, or tokens drawn at random, or both.  Logits exist for a few rows at a
 * time only.  The bits of a prediction depend on its row of h (and of u) alone.
 *   lse  [n,2]     log sum exp(z), log sum exp(z/tau); not finite when a logit
 *                  is not
 *   self [n]       sum p log p, p = softmax(z/tau)              nats
 *   ids  [n,k]     by falling logit, the lower id first where two are equal
 *   logp [n,k]     log softmax(z), at most 0
 *   drawn, count [n,draws]
 *                  tokens drawn from p by rising id, and how often each was;
 *                  after them zeros.  Sampling is systematic: with one u [n] in
 *                  [0,1), the points (i + u)/draws of the cumulative sum of p
 *                  in order of ids.  So the expected share of a token is its p,
 *                  and its share differs from p by less than 1/draws.
 */
struct head_targets {
    float *lse;
    double *self;
    uint32_t *ids; /* if k > 0 */
    float *logp;
    uint32_t *drawn; /* if draws > 0 */
    uint16_t *count;
    const double *u;
};
struct head_top;
/* k <= V; draws <= 65535 */
struct head_top *head_top_new(const struct model *m, struct pool *pool,
    size_t k, size_t draws);
void head_top_free(struct head_top *t);
size_t head_top_bytes(const struct head_top *t);
/* Compute the targets of n predictions; f is of the same model and pool. */
void head_top_rows(struct head_top *t, struct fwd *f, const float *h, size_t n,
    double tau, const struct head_targets *targets);

#endif
