/* Tabu search, which continues from the best configuration so far. */
#ifndef PRUNE_TABU_H
#define PRUNE_TABU_H

struct search;

/* s->best must be a trial that meets the goal.  Afterwards it is the best trial
 * of all. */
void search_tabu(struct search *s);

#endif
