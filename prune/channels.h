/* Removes MLP channels until a configuration meets the goal. */
#ifndef PRUNE_CHANNELS_H
#define PRUNE_CHANNELS_H

#include "conf.h"

struct search;

/* Number of parameters of c. */
double conf_params(const struct search *s, const struct conf *c);
/* Is no cost of c above the goal's limits? */
int meets_limits(const struct search *s, const struct conf *c);
/* Remove as few channels as the limits require.  grow: then, if channels are
 * ranked, restore channels while the limits allow.  -1: removing channels does
 * not meet the limits. */
int channels_fit(const struct search *s, struct conf *c, int grow);

#endif
