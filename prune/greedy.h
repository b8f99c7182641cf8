/* The greedy method: drop one piece at a time, the one whose loss costs
 * least. */
#ifndef PRUNE_GREEDY_H
#define PRUNE_GREEDY_H

struct search;

/* The judge holds the whole model, measured.  Sets s->best, which stays
 * SIZE_MAX if no configuration meets the goal. */
void search_greedy(struct search *s);

#endif
