/*
 * Losses of a policy whose texts have rewards: GRPO (Shao et al.,
 * arXiv:2402.03300, equation 3), Dr. GRPO (arXiv:2503.20783) and DAPO
 * (arXiv:2503.14476), with the formulas and the names of TRL 1.16.
 *
 * n texts of a prompt are a group.  Text i of a group has the advantage
 *   A_i = (r_i - mean) / (s + 1e-4)
 * with the group's mean of rewards; enum policy_scale describes s.  A token of
 * the text has the loss
 *   -min(rho A_i, clip(rho, 1 - low, 1 + high) A_i) + beta k
 *   rho = exp(logp - old)
 *   k   = exp(ref - logp) - (ref - logp) - 1      KL estimator k3, times rho
 *                                                 if `corrected`
 * These kinds replace the term before beta k:
 *   POLICY_CISPO  -min(rho, 1 + high) A_i logp, in whose gradient the factor
 *                 before logp is constant (arXiv:2506.13585)
 *   POLICY_SAPO   -(4 A_i / t) sigma(t (rho - 1)), sigma being the logistic
 *                 function and t = 1 if A_i > 0, else 1.05 (arXiv:2511.20347)
 * The token's log probability, in nats, is logp by the policy, old by the
 * policy that wrote the text, and ref by the reference model.
 */
#ifndef STUDENT_POLICY_H
#define STUDENT_POLICY_H

#include <stddef.h>

/* The s of advantages: the standard deviation (divided by n - 1) of the
 * group's rewards or of all rewards; POLICY_NONE: advantages are not
 * divided. */
enum policy_scale { POLICY_GROUP, POLICY_BATCH, POLICY_NONE };

/* The weight of a token in the sum of losses, for `texts` texts of `tokens`
 * tokens in all:
 *   POLICY_GRPO     1 / (texts * tokens of its own text); POLICY_SAPO too
 *   POLICY_DR_GRPO  1 / (texts * longest)
 *   POLICY_DAPO     1 / tokens; POLICY_CISPO too
 *   POLICY_BNPO     as POLICY_DAPO.  TRL divides by the tokens of a
 *                   micro-batch; here a step has one denominator. */
enum policy_kind {
    POLICY_GRPO,
    POLICY_BNPO,
    POLICY_DR_GRPO,
    POLICY_DAPO,
    POLICY_CISPO,
    POLICY_SAPO
};

struct policy_opt {
    enum policy_kind kind;
    double low, high; /* clip */
    double beta;      /* weight of k; 0: there is no reference */
    int corrected;    /* 1: k is multiplied by rho */
    size_t longest;   /* tokens that a text may have; for POLICY_DR_GRPO */
};

/* Rewards of a batch; the means are over texts that have a reward. */
struct policy_rewards {
    double mean, std; /* std is NAN if fewer than two texts have a reward */
    double zero;      /* share of texts with s <= 1e-8 */
};

/* Write the advantages [groups * n] of rewards [groups * n], group after group.
 * A reward that is NAN is missing: it counts in no mean, and its text has
 * advantage 0. */
void policy_advantages(const double *reward, size_t groups, size_t n,
    enum policy_scale scale, double *advantage, struct policy_rewards *r);
/* Are the rewards [n] of a group, but for those that are NAN, all equal?  Then
 * the group teaches nothing. */
int policy_equal(const double *reward, size_t n);

double policy_weight(const struct policy_opt *o, size_t texts, size_t tokens,
    size_t own);

/* The tokens of a text that are trained on. */
struct policy_text {
    size_t n;
    double advantage, weight; /* weight: policy_weight */
    const float *logp;        /* [n] */
    const float *old;         /* [n]; NULL: logp */
    const float *ref;         /* [n]; not read if beta is 0 */
};

/* Sums over texts; begin with { 0 }. */
struct policy_sum {
    double loss;      /* sum of weight times loss */
    double kl;        /* sum of k over tokens */
    double low, high; /* tokens that are clipped, at each end */
    double low_min;   /* least share of a text's tokens clipped low */
    double high_max;  /* largest share of a text's tokens clipped high */
    size_t texts, tokens;
};
/* Add a text to *sum, and write grad [n]: weight times d loss / d logp. */
void policy_loss(const struct policy_opt *o, const struct policy_text *t,
    struct policy_sum *sum, float *grad);
/* Add the sums of other texts. */
void policy_sum_add(struct policy_sum *to, const struct policy_sum *from);

#endif
