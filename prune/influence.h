/* The influence method: drop pieces in the order of their influence, measured
 * once. */
#ifndef PRUNE_INFLUENCE_H
#define PRUNE_INFLUENCE_H

struct search;

/* Run it.  The judge must hold the measured whole model.  Sets s->best; it
 * stays SIZE_MAX if no configuration meets the goal. */
void search_influence(struct search *s);

#endif
