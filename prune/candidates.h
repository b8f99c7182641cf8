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

/* A search under way. */
struct search {
    struct judge *j;
    struct costs k;
    struct goal g;
    struct search_log *log;
    struct order *order; /* [L] */
    int fixed_order;     /* a profile gave the order: do not measure it again */
    const char *method;  /* named in the log */
    double loss_weight;
    size_t candidates; /* tried in a round; 0: all */
    int halve;         /* score candidates on a quarter of the rows first */
    double evals;      /* tabu's budget in evaluations on all rows */
    double spent;      /* evaluations so far */
    uint64_t seed;     /* of tabu's draws */
    size_t tenure, patience; /* of tabu, in moves */
    size_t best; /* best trial that meets the goal; SIZE_MAX: none */
};

struct cand {
    const char *kind; /* named in the log */
    struct conf conf;
    struct choice choice;
    struct score score;
    size_t rows;           /* scored in this run */
    size_t paid;           /* counted in search.spent */
    int full;              /* the score is of all rows */
    size_t trial;          /* its last trial in the log */
    struct row_score *row; /* [R] */
};
/* A candidate that keeps conf's groups and channels of most energy; it owns
 * conf from here on.  Free with cand_release. */
void cand_init(struct cand *c, const struct search *s, const char *kind,
    struct conf *conf);
void cand_release(struct cand *c);
/* Score c[n], n > 0; returns the index of the best one scored on all rows. */
size_t cand_score_all(struct search *s, struct cand *c, size_t n);
/* Log a candidate whose score on all rows is known. */
void cand_known(struct search *s, struct cand *c, const struct score *score,
    double seconds);
/* Make c the search's best if its objective is the least so far. */
void cand_keep_best(struct search *s, const struct cand *c);
/* Means over the first `rows` rows; dies (EX_NUM) if they are not finite. */
struct score score_rows(const struct search *s, const struct row_score *row,
    size_t rows);

#endif
