/* Sampling: the next token of a text from its logits. */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Choose a token by logits z [V], all finite.  With a temperature tau > 0,
 * probabilities are p = softmax(z/tau).  The nucleus for top_p in (0,1] is the
 * smallest set of most probable tokens whose p add up to top_p or more; of
 * equally probable tokens the lower ids come first.  Holtzman et al.,
 * arXiv:1904.09751.
 */
struct sample_room {
    float *term;   /* [V] */
    uint64_t *key; /* [V] */
    uint32_t *ids; /* [V] */
};
/* Write the nucleus to r->ids, most probable first; returns its size. */
size_t sample_nucleus(const float *z, size_t V, double tau, double top_p,
    struct sample_room *r);
/* The token at the point u in [0,1) of the cumulative sum of p.  top_p 1: the
 * sum is over all tokens in order of ids.  Less: over the nucleus, most
 * probable first, and u is scaled to the nucleus's sum. */
uint32_t sample_draw(const float *z, size_t V, double tau, double top_p,
    double u, struct sample_room *r);
/* The id of the largest logit; of equals the lowest id.  UINT32_MAX: some logit
 * is not finite. */
uint32_t sample_best(const float *z, size_t V);

#endif
