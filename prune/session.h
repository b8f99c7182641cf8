/* A search from its options to its choice: of prune and of prune search. */
#ifndef PRUNE_SESSION_H
#define PRUNE_SESSION_H

#include "goal.h"

enum method {
    METHOD_GREEDY,
    METHOD_TABU,
    METHOD_INFLUENCE,
    METHOD_MAGNITUDE,
    METHOD_RANDOM
};
extern const char *const method_names[];

struct session_options {
    const char *model, *tokenizer; /* its own: NULL */
    const char *input;             /* NULL: standard input */
    char *const *sets;             /* [nsets] instead of the input */
    size_t nsets, rows;
    struct goal_options goal;
    unsigned units;
    int ranked, gradient, method, start, compute, halve, no_cache;
    const char *log, *profile; /* or NULL */
    double loss_weight, evals;
    size_t candidates, tenure, patience, seed, jobs, threads;
    size_t width; /* bytes of a weight that is written */
};
/* What `prune` does when it is told nothing else. */
#define SESSION_DEFAULT                                                      \
    {                                                                        \
        .goal = GOAL_NONE, .units = UNIT_BLOCKS | UNIT_CHANNELS, .rows = 16, \
        .loss_weight = 1.0, .candidates = 8, .tenure = 6, .patience = 12,    \
        .seed = 1, .jobs = 1, .width = 4, .method = METHOD_INFLUENCE,        \
        .start = METHOD_INFLUENCE                                            \
    }

struct session {
    const struct session_options *o;
    struct model m;
    struct calib c;
    struct pool *pool;
    struct judge j;
    struct trials log;
    struct search s;
};
/* Open the model, read the calibration data, measure the whole model. */
void session_begin(struct session *x, const struct session_options *o);
/* Search; the choice is that of x->log.t[x->s.best].  Dies (EX_USAGE) when
 * nothing meets the goal. */
void session_search(struct session *x);
/* Say what was chosen, and that it scores so. */
void session_tell(const struct session *x, const struct trial *t);
void session_end(struct session *x);

#endif
