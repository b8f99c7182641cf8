/* MLP channels are taken away until a configuration meets the goal. */
#ifndef PRUNE_CHANNELS_H
#define PRUNE_CHANNELS_H

#include "conf.h"

struct search;

/* Parameters of c. */
double conf_params(const struct search *s, const struct conf *c);
/* Is no cost of c above the goal's limits? */
int meets_limits(const struct search *s, const struct conf *c);
/* Take away as few channels as the limits allow; grow: give channels back too,
 * where the limits have room.  -1: the limits cannot be met so. */
int channels_fit(const struct search *s, struct conf *c, int grow);

#endif
