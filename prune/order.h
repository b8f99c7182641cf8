/*
 * The order in which a block loses KV groups and MLP channels: least energy
 * first.  The energy of a channel is the sum over tokens of its squared
 * activation, times the squared norm of its column of o or down.  A KV group
 * has the summed energy of all channels of its query heads.
 */
#ifndef PRUNE_ORDER_H
#define PRUNE_ORDER_H

#include "choice.h"
#include "conf.h"

struct judge;
struct profile;

/* The order in which a block keeps its KV groups and its MLP's channels: those
 * of most energy first; if two have the same energy, the lower index first.
 * Element k of group_energy and chan_energy is the summed energy of the first
 * k, divided by the energy of the residual stream to which the attention or the
 * MLP is added. */
struct order {
    size_t *group, *chan;               /* [groups], [mlp] indices */
    double *group_energy, *chan_energy; /* [groups+1], [mlp+1] */
};
/* Allocate [L] for the blocks of m, without an order yet.  Free with
 * orders_free. */
struct order *orders_new(const struct model *m);
void orders_free(struct order *r, size_t L);
/* Set the order by the energies that j measured, in the blocks that c keeps. */
void orders_measured(struct order *r, const struct judge *j,
    const struct conf *c);
/* Set the order by a profile's energies, without the first tokens of pieces.
 * by_gradient: by |gradient times weight| instead, which the profile must
 * have. */
void orders_profile(struct order *r, const struct judge *j,
    const struct profile *p, int by_gradient);
/* order [n] = indices of v [n] by falling value; of equal values the lower
 * index comes first. */
void order_values(const double *v, size_t n, size_t *order);
/* Set *out to the choice that keeps as many groups and channels as c, the first
 * in this order.  *out need not be initialised; the caller releases it. */
void order_choice(const struct order *r, const struct conf *c,
    const struct model *m, struct choice *out);

#endif
