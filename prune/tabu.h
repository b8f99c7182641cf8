/* Tabu search, from the best configuration so far on. */
#ifndef PRUNE_TABU_H
#define PRUNE_TABU_H

struct search;

/* s->best is a trial that meets the goal; s->best is as good or better then. */
void search_tabu(struct search *s);

#endif
