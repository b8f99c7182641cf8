/* The greedy method: drop one piece (units.h) at a time, the cheapest. */
#ifndef PRUNE_GREEDY_H
#define PRUNE_GREEDY_H

struct search;

/* Run the method, after judge_set has measured the whole model.  Sets s->best,
 * which stays SIZE_MAX if no configuration meets the goal. */
void search_greedy(struct search *s);

#endif
