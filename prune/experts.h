/* Measuring and removing the experts of a mixture. */
#ifndef PRUNE_EXPERTS_H
#define PRUNE_EXPERTS_H

#include "base/pool.h"
#include "calib.h"
#include "model/files/model.h"

/* How experts are ranked.
 *   MASS  the sum of the weights with which tokens go to the expert
 *   REAP  the mean, over these tokens, of the weight times the norm of the
 *         expert's output (arXiv:2510.13999) */
enum expert_rank { RANK_REAP, RANK_MASS };

/* Sums over tokens for each expert of each block; 0 in blocks without
 * experts. */
struct expert_sums {
    size_t L, E;
    double *n;    /* [L,E] tokens that went to the expert */
    double *mass; /* [L,E] sum of the router's weights of these tokens */
    double *norm; /* [L,E] sum of weight times norm of the expert's output */
};
/* Measure on all tokens of c except padding.  The caller releases *s. */
void experts_measure(struct expert_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool);
void experts_release(struct expert_sums *s);
/* Value by which expert e of block i is ranked; 0 if no token went to it. */
double experts_value(const struct expert_sums *s, enum expert_rank by, size_t i,
    size_t e);
/* Set kept [L,n] to the n best experts of each block, by rising number.  Of
 * equally good experts the one with the lower number is kept. */
void experts_choose(const struct expert_sums *s, enum expert_rank by, size_t n,
    uint32_t *kept);

/* A mixture of which each block has only n of its experts, listed in `kept`
 * [L,n].  Borrows the weights of the whole mixture. */
struct expert_cut {
    struct model m;
    const unsigned char **part; /* [L,4,n] each kept expert's first row in each
                                 * of the 4 weights that are cut */
    float *shift; /* [L,n] numbers of DeepSeek-V3's e_score_correction_bias */
};
void experts_cut(struct expert_cut *x, const struct model *m,
    const uint32_t *kept, size_t n);
void experts_cut_free(struct expert_cut *x);

#endif
