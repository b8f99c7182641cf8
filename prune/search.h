/*
 * The search for what to cut; see prune-search(1).  A configuration says how
 * many KV groups and channels of each block are kept; which ones, their energy
 * says.
 */
#ifndef PRUNE_SEARCH_H
#define PRUNE_SEARCH_H

#include "prune.h"

/* ---- conf.c: configurations ---- */

struct conf {
    struct block_shape *b; /* [L of the model]; groups and mlp 0: no block */
    size_t L;
};
void conf_init(struct conf *c, const struct model *m); /* all of m */
void conf_copy(struct conf *to, const struct conf *c);
void conf_release(struct conf *c);
int conf_has(const struct conf *c, size_t block);
int conf_equal(const struct conf *a, const struct conf *b);
size_t conf_blocks(const struct conf *c); /* that have anything */
size_t conf_width(const struct conf *c);  /* channels of the widest MLP */
/* "0-3,5": the blocks that have anything. */
void conf_text(const struct conf *c, struct buf *b);

/* A block's groups and channels, those of most energy first, of equals the
 * first; energy [n+1]: of the first n of them, over that of the stream. */
struct rank {
    size_t *group, *chan;
    double *group_energy, *chan_energy;
};
struct rank *ranks_new(const struct model *m);
struct rank *ranks_copy(const struct rank *r, const struct model *m);
void ranks_free(struct rank *r, size_t L);
/* From what was measured of the blocks that c has. */
void ranks_energy(struct rank *r, const struct judge *j, const struct conf *c);
/* From a profile: what is read by o and down, but for the first tokens of
 * pieces; ordered by these energies, or by gradient times weight, which it then
 * has. */
struct profile;
void ranks_profile(struct rank *r, const struct judge *j,
    const struct profile *p, int gradient);
/* The order of n values, falling, first ones on ties. */
void rank_values(const double *v, size_t n, size_t *order);
/* What c keeps. */
void conf_choice(const struct conf *c, const struct model *m,
    const struct rank *r, struct choice *out);

/* ---- cost.c, latency.c: what it costs ---- */

struct cost {
    double params, bytes; /* of the weights as they are written */
    double flops;         /* of a token, in the middle of a row */
    double latency;       /* seconds until the token after a row of T is known;
                           * 0: not measured */
};
struct shapes;
struct costs {
    const struct model *m;
    size_t T, width;       /* tokens of a row; bytes a weight */
    struct shapes *shapes; /* NULL: no latency */
};
void cost_of(const struct costs *k, const struct conf *c, struct cost *out);
int cost_fits(const struct cost *c, const struct cost *most);

/* Seconds by shape, measured here once and kept in `file` (NULL: nowhere),
 * from which they are taken when it is there. */
struct shapes *shapes_open(const struct model *m, size_t T, struct pool *pool,
    const char *file);
void shapes_close(struct shapes *s);
enum shape_part { SHAPE_ATTN, SHAPE_MLP, SHAPE_HEAD };
/* Of attention with n groups, of an MLP with n channels, of the head. */
double shapes_seconds(struct shapes *s, enum shape_part part, size_t n);

/* ---- trial.c: configurations that were evaluated, and their log ---- */

struct score {
    double nll, kl; /* nats a token */
    double sum;     /* what is minimised: KL + loss weight * nll */
    double se;      /* its standard error over rows */
};
struct trial {
    const char *method, *kind; /* "greedy"; "drop" */
    struct conf conf;
    struct choice choice;
    uint64_t key; /* choice_key */
    struct cost cost;
    size_t rows, tokens; /* of the calibration; scored predictions in them */
    struct score score;
    double seconds;
    int taken; /* it is the step taken, or the choice */
};
struct trials {
    struct trial *t; /* of this run */
    size_t n, cap;
    struct record *r; /* of the log */
    size_t nr, rcap;
    int fd;           /* of the log; -1: none */
    uint64_t of;      /* what the search is of */
    char kernels[64]; /* that the log names and this run has not; "": none */
};
/* file NULL: no log.  What it holds is of the search `of`, or it is refused. */
void trials_open(struct trials *t, const char *file, uint64_t of);
void trials_close(struct trials *t);
/* Known from the log?  Then *score and *seconds. */
int trials_find(const struct trials *t, uint64_t key, size_t tokens,
    struct score *score, double *seconds);
/* Add a copy of x, and log it unless it was.  Its index. */
size_t trials_add(struct trials *t, const struct trial *x);
/* It is taken: log it again. */
void trials_take(struct trials *t, size_t i);
/* Append all trials of this run as TSV, one line each (prune(1)). */
void trials_report(const struct trials *t, struct buf *b);

/* ---- jobs.c: processes ---- */

/*
 * fn(ctx, item, out) gives n numbers of each item; got(ctx, item, out) is told
 * them in order, as they come.  With more than one job the items are shared
 * among so many forked processes, in which begin(ctx, jobs) is called first.
 */
struct jobs {
    size_t jobs, n;
    void (*begin)(void *ctx, size_t jobs);
    void (*fn)(void *ctx, size_t item, double *out);
    void (*got)(void *ctx, size_t item, const double *out);
    void *ctx;
};
void jobs_run(const struct jobs *j, size_t items);

/* ---- try.c, fit.c, greedy.c, lines.c, tabu.c: the search ---- */

enum unit {
    UNIT_BLOCKS = 1,
    UNIT_ATTN = 2,
    UNIT_MLP = 4,
    UNIT_CHANNELS = 8,
    UNIT_GROUPS = 16
};
struct goal {
    struct cost most; /* INFINITY: no limit */
    size_t blocks;    /* kept exactly; 0: any number */
    size_t width;     /* of the MLPs exactly; 0: any */
    size_t multiple;  /* of which widths are */
    unsigned units;   /* what may go */
    int ranked;       /* channels ranked over all blocks; 0: one width */
};
struct search {
    struct judge *j;
    struct costs k;
    struct goal g;
    struct trials *log;
    struct rank *rank; /* [L] */
    int fixed;         /* it stays as it is: a profile's */
    const char *method;
    double loss_weight;
    size_t candidates; /* a round; 0: all */
    size_t jobs;
    int halve;    /* candidates on a quarter of the rows first */
    double evals; /* work of Tabu and random, in evaluations on all rows */
    double spent; /* so far */
    uint64_t seed;
    size_t tenure, patience; /* of Tabu, in moves */
    size_t best; /* trial that is best and meets the goal; SIZE_MAX: none */
};

/* A configuration to be tried. */
struct cand {
    const char *kind;
    struct conf conf;
    struct choice choice;
    struct score score;
    size_t rows;           /* scored here, not taken from the log */
    size_t paid;           /* rows that count as its work */
    int full;              /* scored on all rows */
    size_t trial;          /* the last one of it */
    struct row_score *row; /* [R] */
};
/* Takes conf over. */
void cand_init(struct cand *c, const struct search *s, const char *kind,
    struct conf *conf);
void cand_release(struct cand *c);
/* Score n candidates; the index of the best of those on all rows. */
size_t try_all(struct search *s, struct cand *c, size_t n);
/* The same of one whose score is known. */
void try_known(struct search *s, struct cand *c, const struct score *score,
    double seconds);
/* Let it be the best if it is. */
void try_best(struct search *s, const struct cand *c);
/* The mean over the first `rows` rows. */
struct score score_rows(const struct search *s, const struct row_score *row,
    size_t rows);

/* Let c meet the goal by channels; -1: it cannot.  grow: up to it. */
int fit(const struct search *s, struct conf *c, int grow);
int fits(const struct search *s, const struct conf *c);
double fit_params(const struct search *s, const struct conf *c);
/* Less of one unit. */
struct piece {
    enum unit unit;
    size_t block;
};
extern const char *const part_names[]; /* of units, by bit; ends with NULL */
const char *part_name(enum unit unit); /* "block" */
/* Can it be dropped from c? */
int part_there(const struct search *s, const struct conf *c, struct piece p);
void part_drop(const struct search *s, struct conf *c, struct piece p);
/* How much is lost with it, as its influence says. */
double part_influence(const struct search *s, const struct conf *c,
    struct piece p);

/* Each begins with the whole model in the judge, measured, and leaves
 * s->best. */
void search_greedy(struct search *s);
/* Blocks dropped in the order of a list, with channels by that order too. */
void search_influence(struct search *s);
void search_magnitude(struct search *s);
void search_random(struct search *s);
/* From s->best on. */
void search_tabu(struct search *s);

#endif
