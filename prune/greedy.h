/* The greedy method: drop one piece at a time, the one that costs least. */
#ifndef PRUNE_GREEDY_H
#define PRUNE_GREEDY_H

struct search;

/* Run it.  The judge must hold the measured whole model.  Sets s->best; it
 * stays SIZE_MAX if no configuration meets the goal. */
void search_greedy(struct search *s);

#endif
