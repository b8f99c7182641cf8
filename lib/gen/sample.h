/*
 * Sampling: choosing the next token of a text from its logits z [V], all
 * finite.  The steps, in this order:
 *
 * 1. Logit bias: z += bias.
 * 2. Repetition penalty r, for every token of the prompt and the text: z > 0
 *    becomes z/r, other z become z r.  Keskar et al., arXiv:1909.05858.
 *    Presence and frequency penalties, for a token that the text has c > 0
 *    times (the prompt does not count): z -= presence + frequency c.
 * 3. Temperature tau: p = softmax(z/tau).  With tau 0 the token of the largest
 *    z is chosen, of equals the lowest id, and the steps below are left out.
 * 4. Top-k keeps the k most probable tokens.
 * 5. Top-p keeps the fewest most probable tokens whose p add up to top_p or
 *    more.  Holtzman et al., arXiv:1904.09751.
 * 6. Min-p keeps the tokens with p >= min_p times the largest p.  Nguyen et
 *    al., arXiv:2407.01082.
 * 7. Typical: with H the entropy of p, keeps the fewest tokens of least
 *    |-log p - H| whose p add up to `typical` or more.  Meister et al.,
 *    arXiv:2202.00666.
 * 8. A token is drawn from the kept ones, by their p.
 *
 * Each of 4 to 7 sees p divided by its sum over the tokens that are left, and
 * keeps at least one; of equal tokens the lower ids come first.  This is the
 * order of transformers' generate.  vLLM applies min-p before top-k and top-p;
 * the rest of its order is the same.
 */
#ifndef GEN_SAMPLE_H
#define GEN_SAMPLE_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct sample_bias {
    uint32_t id; /* < V */
    float add;
};
/* How a text is sampled.  Values that leave a step out are in brackets. */
struct sampling {
    double temperature;             /* 0, or 0.01 to 1000 */
    size_t top_k;                   /* [0] */
    double top_p;                   /* 1e-6 to 1 [1] */
    double min_p;                   /* 0 to 1 [0] */
    double typical;                 /* 1e-6 to 1 [1] */
    double repetition;              /* 0.01 to 100 [1] */
    double presence, frequency;     /* -100 to 100 [0] */
    const struct sample_bias *bias; /* [biases], each id once */
    size_t biases;                  /* [0] */
};
#define SAMPLING_DEFAULTS                               \
    {                                                   \
        .top_p = 1.0, .typical = 1.0, .repetition = 1.0 \
    }
/* Check the ranges.  -1 and *e (EX_USAGE) "NAME: why", with the names that
 * OpenAI's and vLLM's requests have (repetition_penalty, logit_bias ...). */
int sampling_check(const struct sampling *s, size_t V, struct err *e);

/* Memory of one thread, for vocabularies of V tokens. */
struct sample_room {
    float *z;        /* [V] logits after step 2 */
    float *term;     /* [V] exp((z - max)/tau) */
    uint64_t *key;   /* [V] */
    uint32_t *ids;   /* [V] */
    uint32_t *count; /* [V] zeros between calls */
};
void sample_room_init(struct sample_room *r, size_t V);
void sample_room_release(struct sample_room *r);
size_t sample_room_bytes(size_t V);

/* The tokens that penalties look at, and the tokens that must not be chosen. */
struct sample_past {
    const uint32_t *prompt, *text, *banned; /* ids < V */
    size_t nprompt, ntext, nbanned;
    const uint64_t *allowed; /* [V/64, rounded up] bit id & 63 of element
                              * id >> 6: may the token be chosen?  NULL: all
                              * may */
};

/* Steps 1 and 2: set r->z; tokens that must not be chosen get -INFINITY. */
void sample_change(const struct sampling *s, const struct sample_past *past,
    const float *z, size_t V, struct sample_room *r);
/* Steps 3 to 7, of r->z, with a temperature > 0: write the kept tokens to
 * r->ids and return their number.  *sum: the sum of their r->term, in this
 * order. */
size_t sample_keep(const struct sampling *s, size_t V, struct sample_room *r,
    double *sum);
/* All steps.  u in [0,1): the token is at that point of the cumulative sum of
 * the kept p, in the order of r->ids. */
uint32_t sample_next(const struct sampling *s, const struct sample_past *past,
    const float *z, size_t V, double u, struct sample_room *r);
/* The id of the largest logit, of equals the lowest id.  No logit is NaN. */
uint32_t sample_largest(const float *z, size_t V);
int sample_finite(const float *z, size_t V);

/* log softmax(z) of the k <= V most probable tokens, by falling logit, of
 * equals the lower id first: ids [k], logp [k].  lse: sample_lse(z, V).  key
 * [k]: scratch. */
void sample_top(const float *z, size_t V, double lse, size_t k, uint32_t *ids,
    float *logp, uint64_t *key);
/* log sum exp(z) in nats. */
double sample_lse(const float *z, size_t V);
/* log softmax(z) of one token, from its logit and sample_lse. */
float sample_logp(float z, double lse);

#endif
