/*
 * Candidates: configurations whose scores a search compares.  prune-search(1)
 * describes the methods, which are in greedy.h, influence.h and tabu.h.
 */
#ifndef PRUNE_CANDIDATES_H
#define PRUNE_CANDIDATES_H

#include "cost.h"
#include "goal.h"
#include "judge.h"
#include "order.h"
#include "search_log.h"

/* A search under way: its configurations, limits and best result. */
struct search {
    struct judge *j;
    struct costs k;
    struct goal g;
    struct search_log *log; /* every trial */
    struct order *order;    /* [L] order in which each block keeps its groups
                              * and its channels */
    int fixed_order;        /* a profile gave the order, which is not measured
                              * again */
    const char *method;     /* name of the method in the log */
    size_t candidates;      /* configurations tried in a round; 0: all (tabu:
                              * 16) */
    int halve;              /* score on a quarter and on half of the rows
                              * first */
    double evals;           /* tabu's budget, as `spent` is counted; 0: twice
                              * `spent` at its start, at least 32 */
    double spent;           /* evaluations so far; one on a part of the rows
                              * counts as that part */
    uint64_t seed;          /* seed of tabu's draws */
    size_t best; /* index in log of the best trial that meets the goal;
                  * SIZE_MAX: none */
};

struct cand {         /* a candidate */
    const char *kind; /* name of the change in the log */
    struct conf conf;
    struct choice choice; /* the groups and channels that conf keeps */
    struct score score;
    size_t rows;           /* rows that this run has scored (not taken from the
                            * log) */
    size_t paid;           /* rows of this candidate that search.spent counts */
    int full;              /* the score is over all rows */
    size_t trial;          /* index in the log of this candidate's last trial */
    struct row_score *row; /* [R] score of each row; only the first `rows` of
                            * them are set */
};
/* Make a candidate that keeps as many groups and channels as conf says: the
 * first in s->order.  Takes ownership of conf.  Free with cand_release. */
void cand_init(struct cand *c, const struct search *s, const char *kind,
    struct conf *conf);
void cand_release(struct cand *c);
/* Score c[n], n > 0, on all rows; if s->halve, the worse ones only on a part of
 * the rows.  Returns the index of the best of those scored on all rows. */
size_t cand_score_all(struct search *s, struct cand *c, size_t n);
/* Log a candidate whose score on all rows is known already. */
void cand_known(struct search *s, struct cand *c, const struct score *score,
    double seconds);
/* Make c the search's best trial if its objective is the lowest so far. */
void cand_keep_best(struct search *s, const struct cand *c);
/* Means over the first `rows` rows; dies (EX_NUM) if they are not finite. */
struct score score_rows(const struct search *s, const struct row_score *row,
    size_t rows);

#endif
