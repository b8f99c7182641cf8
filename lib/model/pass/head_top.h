/* Targets of distillation from final states: the most probable tokens, or
 * random draws (format/targets.h). */
#ifndef MODEL_HEAD_TOP_H
#define MODEL_HEAD_TOP_H

#include "base/pool.h"
#include "model/pass/forward.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Targets of n predictions from their final states h [n,d]: the k most probable
 * tokens, tokens drawn at random, or both.  Only a few rows' logits exist at a
 * time.  A prediction's bits depend on its row of h (and on its u) alone.
 *   lse  [n,2]     log sum exp(z), log sum exp(z/tau); not finite if a logit
 *                  is not
 *   self [n]       sum p log p, p = softmax(z/tau)              nats
 *   ids  [n,k]     by falling logit; of equals the lower id is first
 *   logp [n,k]     log softmax(z), at most 0
 *   drawn [n,draws]
 *                  the different tokens drawn from p, by rising id, then zeros
 *   count [n,draws]
 *                  how often each was drawn, then zeros
 *   u    [n]       in: a number in [0,1) for each prediction
 *   next [n]       in, or NULL: an id for each prediction, < V
 *   next_logp [n]  if next is not NULL: its log softmax(z), at most 0
 *   wanted [n]     in, or NULL: 0 for a prediction whose logits nobody needs.
 *                  It gets the targets of equal logits: ids 0, 1, ... of log
 *                  probability -log V, and no draws.  Not with next.
 * Draws are systematic: the tokens at the points (i + u)/draws, i < draws, of
 * the cumulative sum of p in order of ids.  So a token's expected share of the
 * draws is its p, and its share differs from p by less than 1/draws.
 */
struct head_targets {
    float *lse;
    double *self;
    uint32_t *ids; /* if k > 0 */
    float *logp;
    uint32_t *drawn; /* if draws > 0 */
    uint16_t *count;
    const double *u;
    const uint32_t *next;
    float *next_logp;
    const uint8_t *wanted;
};
struct head_top;
/* k <= V; draws <= 65535 */
struct head_top *head_top_new(const struct model *m, struct pool *pool,
    size_t k, size_t draws);
/* From this call on look for the k most probable tokens among the n different
 * ids in `among`, k <= n, which must outlive t.  The results `ids` are then
 * indices into `among`; logp is still over the whole vocabulary. */
void head_top_among(struct head_top *t, const uint32_t *among, size_t n);
void head_top_free(struct head_top *t);
size_t head_top_bytes(const struct head_top *t);
/* Compute the targets of n predictions; f is of the same model and pool. */
void head_top_rows(struct head_top *t, struct fwd *f, const float *h, size_t n,
    double tau, const struct head_targets *targets);

#endif
