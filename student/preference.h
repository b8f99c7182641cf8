/*
 * Losses of a pair of completions of a prompt, of which the chosen one is
 * preferred to the rejected one, as TRL 1.16's DPOTrainer has them.
 *
 *   c = log p(chosen) - log p_ref(chosen), a sum over tokens; r: the same of
 *   the rejected one; s: the logistic function; e: smoothing
 *   x = beta (c - r), y = beta (c / |chosen| - r / |rejected|), |.|: tokens
 *
 *   sigmoid       -log s(x)                      DPO, arXiv:2305.18290, eq. 7
 *   sigmoid_norm  -log s(y)
 *   ipo           (y/beta - 1/(2 beta))^2        arXiv:2310.12036, eq. 17
 *   hinge         max(0, 1 - x)                  arXiv:2305.10425
 *   robust        (-(1-e) log s(x) + e log s(-x)) / (1-2e)   arXiv:2403.00409
 *   exo_pair      s(x) (log s(x) - log(1-e)) + s(-x) (log s(-x) - log e)
 *                                                arXiv:2402.00856, eq. 16
 *   nca_pair      -log s(beta c) - 1/2 log s(-beta c) - 1/2 log s(-beta r)
 *                                                arXiv:2402.05369
 *   bco_pair      -log s(beta c) - log s(-beta r)
 *   apo_zero      1 - s(beta c) + s(beta r)      arXiv:2408.06266, eq. 7
 *   apo_down      s(beta c) + 1 - s(x)           eq. 8
 *   sppo_hard     (c - 1/(2 beta))^2 + (r + 1/(2 beta))^2    arXiv:2405.00675
 *   discopop      -log s(x) (1 - m) + exp(-x) m, m = s(x / 0.05)
 *                                                arXiv:2406.08414, eq. 5
 */
#ifndef STUDENT_PREFERENCE_H
#define STUDENT_PREFERENCE_H

#include <stddef.h>

enum preference {
    PREFERENCE_SIGMOID,
    PREFERENCE_SIGMOID_NORM,
    PREFERENCE_IPO,
    PREFERENCE_HINGE,
    PREFERENCE_ROBUST,
    PREFERENCE_EXO_PAIR,
    PREFERENCE_NCA_PAIR,
    PREFERENCE_BCO_PAIR,
    PREFERENCE_APO_ZERO,
    PREFERENCE_APO_DOWN,
    PREFERENCE_SPPO_HARD,
    PREFERENCE_DISCOPOP,
    PREFERENCE_N
};
/* The names above, and NULL. */
extern const char *const preference_names[PREFERENCE_N + 1];

/* chosen, rejected: log ratios c and r, in nats; nchosen, nrejected: numbers of
 * tokens of the completions */
struct preference_pair {
    double chosen, rejected;
    double nchosen, nrejected;
};
struct preference_grad {
    double chosen, rejected; /* d loss / d log ratio */
};
/* Returns the loss and adds w times its gradient to *g.  beta > 0; 0 <=
 * smoothing < 1/2, and above 0 for exo_pair. */
double preference_loss(enum preference loss, double beta, double smoothing,
    const struct preference_pair *p, double w, struct preference_grad *g);

#endif
