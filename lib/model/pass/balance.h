/*
 * The loss of load balance of a mixture of experts, which is low if experts get
 * equally many tokens: for each row of a batch
 *   E sum_e f_e P_e
 * over the E experts.  f_e is how often a token of the row goes to expert e,
 * and P_e is e's share of a token's scores, each as a mean over the row's
 * tokens and all blocks (Fedus et al., arXiv:2101.03961, eq. 4 to 6;
 * transformers' load_balancing_loss_func of the row alone; for a sigmoid, k
 * times arXiv:2412.19437, eq. 17).  Only P has a gradient.
 */
#ifndef MODEL_BALANCE_H
#define MODEL_BALANCE_H

#include "base/mem.h"
#include "base/pool.h"
#include "model/pass/forward.h"
#include "model/pass/route.h"

struct balance {
    struct router how;
    double *count; /* [B,E] times that tokens of the row went to the expert */
    double *mass;  /* [B,E] sums of the expert's shares of scores */
    double *n;     /* [B] tokens, counted once in each block */
    double *dp;    /* [B,E] gradients at each token's shares of scores */
};
void balance_lay(struct balance *x, const struct router *how, size_t B,
    struct arena *a);
/* Begin a count over B rows: set all sums to zero. */
void balance_begin(struct balance *x, size_t B);
/* Count the tokens of a block: z [B,Tp,E] the router's logits, shift [E] as
 * router_choose's bias. */
void balance_add(struct balance *x, const struct rows *r, size_t Tp,
    const float *z, const float *shift, struct pool *pool);
/* The loss of row b; sets its dp to the gradient times `weight`. */
double balance_loss(struct balance *x, size_t b, double weight);

#endif
