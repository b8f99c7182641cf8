/* Removes MLP channels until a configuration meets the goal. */
#ifndef PRUNE_CHANNELS_H
#define PRUNE_CHANNELS_H

#include "conf.h"

struct search;

/* Number of parameters of c. */
double conf_params(const struct search *s, const struct conf *c);
/* Are all costs of c within the goal's limits? */
int meets_limits(const struct search *s, const struct conf *c);
/* If channels are ranked, remove as few as the limits require, and with `grow`
 * then restore channels while the limits allow.  Else give all MLPs one width:
 * --width, or the largest that meets the limits.  -1: removing channels does
 * not meet the limits. */
int channels_fit(const struct search *s, struct conf *c, int grow);

#endif
