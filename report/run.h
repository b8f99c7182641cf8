/*
 * The contents of a run's files, read and checked.  If a file is missing, its
 * part of struct run is empty; if it cannot be read or is malformed, `problem`
 * has a message too.
 */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "eval.h"
#include "table.h"

/* Columns of student(1)'s metrics.tsv, and SPEED, computed from them: a value
 * for each step; NAN: none. */
enum {
    STEP,
    CE,
    TOKENS,
    SCORED,
    KL,
    SQUAREHEAD,
    NORM,
    SECONDS,
    REWARD,
    LOSS,
    SPEED,
    NLOG
};
/* Columns of held-out.tsv, with a value for each evaluation. */
enum { HELD_STEP, HELD_LOSS, HELD_CE, HELD_KL, NHELD };
struct log {
    char *name;      /* name of the folder */
    double *v[NLOG]; /* [n] each; SPEED is tokens/s */
    size_t n;
    size_t colour;       /* colour of the model of that name */
    double *held[NHELD]; /* [nheld] each */
    size_t nheld;
};

/* Files that hold one table each. */
enum {
    F_PRUNE,    /* prune --report */
    F_SEARCH,   /* prune search --log */
    F_BLOCKS,   /* prune profile: blocks */
    F_CHANNELS, /* prune profile: channels */
    F_SPARSE,   /* prune sparsify --report */
    F_TOKENS,   /* tokenize --stats */
    F_COMM,     /* student --comm-log dir/comm */
    F_SCALING,  /* recipes/scaling.sh */
    F_PLAN,     /* plan cluster, a sweep */
    F_ABLE,     /* scripts/abilities */
    NFILE
};

struct run {
    char *name; /* name of the folder */
    struct eval eval;
    struct log *log; /* [nlog], models of eval.tsv first */
    size_t nlog;
    struct table file[NFILE];
    struct lines text[NFILE]; /* the text of these tables */
    struct lines samples, facts;
    struct err *problem; /* [nproblem] */
    size_t nproblem;
};

/* malloc'd: dir, or, if `retort distil` made that folder, the folder full in it
 * with `below` behind its path. */
char *run_folder(const char *dir, const char *below);

/* Read the files of folder dir.  -1 and *e: it is no folder, or has nothing to
 * show. */
int run_read(struct run *r, const char *dir, struct err *e);
void run_release(struct run *r);

/* Read the logs of the folder of one run; the caller releases them.  Returns 1;
 * 2 and *e: held-out.tsv is malformed, and left out; 0: there is no log, or no
 * step in it; -1 and *e. */
int log_read(struct log *g, const char *dir, const char *name, struct err *e);
void log_release(struct log *g);
/* Mean of a column's values over the last tenth of the steps; NAN: there are
 * none. */
double log_last(const struct log *g, int column);
/* Tokens a second over all steps whose time is known. */
double log_speed(const struct log *g);
/* Index of the held-out evaluation with the lowest loss; if all losses are NaN,
 * any index. */
size_t log_best(const struct log *g);
/* Did both runs see and score the same number of tokens in every step?  Then
 * they are assumed to have seen the same batches. */
int log_alike(const struct log *a, const struct log *b);

#endif
