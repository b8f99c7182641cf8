/*
 * How a mixture of experts routes: which experts a token goes to, and with what
 * weights.  One routine for every family (route.h); struct router says how they
 * differ.
 *
 *   Mixtral, Qwen-MoE, OLMoE: Fedus et al., arXiv:2101.03961, eq. 2; the k best
 *   DeepSeek-V2: arXiv:2405.04434, s. 2.2.2; V3: arXiv:2412.19437, s. 2.1.2
 */
#ifndef MODEL_ROUTER_H
#define MODEL_ROUTER_H

#include <stddef.h>

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

#endif
