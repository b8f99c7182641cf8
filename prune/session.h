/* Runs a search, from its options to its choice, for `prune search` and
 * `prune`. */
#ifndef PRUNE_SESSION_H
#define PRUNE_SESSION_H

#include "candidates.h"
#include "commands.h"
#include "units.h"

enum search_method { METHOD_GREEDY, METHOD_TABU, METHOD_INFLUENCE };
extern const char *const search_methods[]; /* ends with NULL */

struct session_options {
    const char *model, *tokenizer; /* tokenizer NULL: the model's */
    const char *input;             /* NULL: standard input */
    char *const *sets;             /* [nsets] texts of --calib, instead of
                                    * input; see calib.h */
    size_t nsets;
    size_t rows; /* --calib-rows: the search scores candidates on this many rows
                  * of the input, or of each set; 0: on all */
    size_t read; /* --repair-rows: read this many rows of the input for the
                  * repair, if that is more; 0: there is no repair */
    struct goal_options goal;
    unsigned units; /* bits of enum unit */
    int ranked, gradient, method, compute, halve;
    const char *log, *profile, *from; /* paths; NULL: none */
    double evals;
    size_t candidates, seed, threads;
    size_t width; /* bytes of a weight in the file type */
};
#define SESSION_DEFAULT                                                      \
    {                                                                        \
        .goal = GOAL_NONE, .units = UNIT_BLOCKS | UNIT_CHANNELS, .rows = 16, \
        .candidates = 8, .seed = 1, .width = 4, .method = METHOD_INFLUENCE   \
    }

/* Options of `prune` and `prune search`; o: struct session_options. */
#define SESSION_METHOD(o)                                                  \
    PRUNE_METHOD(&(o).method, search_methods),                             \
        OPT_SIZE(0, "candidates", &(o).candidates, 0, 1e6, "n",            \
            "configurations tried in each round (0: all in greedy, 16 in " \
            "tabu)")

struct session {
    const struct session_options *o;
    struct model m;
    struct choice from; /* choice of --from; empty: none */
    struct calib read;  /* the rows of the input that were read */
    struct calib c;     /* the first --calib-rows of them: the search scores
                         * candidates on these */
    struct pool *pool;
    struct judge j;
    struct search_log log;
    struct search s;
};
/* Check the options, and open the model and --from.  Dies. */
void session_open(struct session *x, const struct session_options *o);
/* Read the calibration data and measure the whole model.  Dies. */
void session_begin(struct session *x);
/* Search, log the choice and return it; the pointer is valid until the next
 * search_log_add.  Dies (EX_USAGE) if nothing meets the goal. */
const struct trial *session_search(struct session *x);
/* Note the size and the scores of t. */
void session_note(const struct session *x, const struct trial *t);
void session_end(struct session *x);

#endif
