/*
 * Routing of a mixture of experts: which experts a token goes to, and with what
 * weights.  One routine for every family; struct router says how they differ.
 *
 *   Mixtral, Qwen-MoE, OLMoE: Fedus et al., arXiv:2101.03961, eq. 2; the k best
 *   DeepSeek-V2: arXiv:2405.04434, s. 2.2.2; V3: arXiv:2412.19437, s. 2.1.2
 */
#ifndef MODEL_ROUTER_H
#define MODEL_ROUTER_H

#include <stddef.h>
#include <stdint.h>

enum { ROUTER_EXPERTS = 1024, ROUTER_USED = 64 }; /* limits of n and k */

/*
 * How the router's outputs z [n] (logits) become scores of experts.
 *   SOFTMAX  over all experts
 *   SIGMOID  of each
 *   CHOSEN   the choice is by z; softmax over the chosen experts only
 */
enum router_score { ROUTER_SOFTMAX, ROUTER_SIGMOID, ROUTER_CHOSEN };
/* The score of a group of experts: its best expert's, or the sum of its two
 * best. */
enum router_group { ROUTER_MAX, ROUTER_SUM2 };

struct router {
    size_t n, k; /* experts, and how many a token goes to */
    enum router_score score;
    /* The experts form `groups` groups of neighbours, and only those in the
     * `keep` best groups can be chosen.  groups <= 1: no groups. */
    size_t groups, keep;
    enum router_group group;
    int renorm;   /* weights are divided by their sum */
    double scale; /* then multiplied by this number */
};

/*
 * Choose the experts of a token from its logits z [n].
 *   bias  [n] is added to the scores for the choice, not in the weights; NULL:
 *         none
 *   id    [k] out: the experts, best first; of equal ones the lower number
 *         first
 *   w     [k] out: their weights
 * Scores are computed in double.  A NaN among the logits gives valid ids and
 * weights of NaN.
 */
void router_choose(const struct router *r, const float *z, const float *bias,
    uint32_t *id, float *w);
/* The scores p [n] of all experts in double; for CHOSEN by a softmax over all.
 * Returns their sum, 1 but for SIGMOID. */
double router_scores(const struct router *r, const float *z, double *p);
/*
 * The gradient of the logits.
 *   id  [k] as router_choose set it
 *   dw  [k] the gradient of the weights
 *   dp  [n] a further gradient, of the scores divided by their sum; NULL: none
 *   dz  [n] out
 * The choice itself has no gradient.
 */
void router_backward(const struct router *r, const float *z, const uint32_t *id,
    const float *dw, const double *dp, float *dz);

#endif
