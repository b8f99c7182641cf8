/* The influence method: drop pieces (units.h) in the order of their influence,
 * measured once. */
#ifndef PRUNE_INFLUENCE_H
#define PRUNE_INFLUENCE_H

struct search;

/* Run the method, after judge_set has measured the whole model.  Sets s->best,
 * which stays SIZE_MAX if no configuration meets the goal. */
void search_influence(struct search *s);

#endif
