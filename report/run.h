/*
 * What the files of a run hold, read and checked; nothing here knows how it is
 * shown.  A file that is not there leaves its part empty, one that cannot be
 * read or is malformed too, and adds a sentence to `problem`.
 */
#ifndef REPORT_RUN_H
#define REPORT_RUN_H

#include "table.h"

/* metrics.tsv of student(1): a value a step and column, NAN where the file has
 * none */
enum { STEP, CE, TOKENS, SCORED, KL, SQUAREHEAD, NORM, SECONDS, SPEED, NLOG };
/* and its held-out.tsv, a value an evaluation */
enum { HELD_STEP, HELD_LOSS, HELD_CE, HELD_KL, NHELD };
struct log {
    char *name;      /* of the folder */
    double *v[NLOG]; /* [n] each; SPEED is tokens/s */
    size_t n;
    size_t colour;       /* of the model of this name */
    double *held[NHELD]; /* [nheld] each */
    size_t nheld;
};

/* eval.tsv of evalppl(1): models in order, the row of each and a source.  Of
 * more models and sources the lines are counted and not shown. */
enum { MODELS = 50, SOURCES = 200 };
struct eval {
    struct lines l;
    struct table t, pair; /* figures; differences of two models */
    const char *protocol; /* "" where the file does not say */
    const char *model[MODELS], *source[SOURCES];
    size_t nmodel, nsource;
    size_t row[MODELS][SOURCES + 1]; /* [m][0]: of all sources; or NONE */
    size_t left_out;                 /* lines */
    size_t base, from;               /* model of KL; of regained; or NONE */
};

/* Tables that are one file each. */
enum {
    F_PRUNE,    /* prune --report */
    F_SEARCH,   /* prune search --log */
    F_BLOCKS,   /* of a profile, */
    F_CHANNELS, /* and this too */
    F_SPARSE,   /* prune sparsify --report */
    F_TOKENS,   /* tokenize --stats */
    F_COMM,     /* student --comm-log dir/comm */
    F_SCALING,  /* recipes/scaling.sh */
    F_PLAN,     /* a sweep of plan */
    NFILE
};

struct run {
    char *name; /* of the folder */
    struct eval eval;
    struct log *log; /* [nlog], those of eval.tsv first */
    size_t nlog;
    struct table file[NFILE];
    struct lines text[NFILE]; /* theirs */
    struct lines samples, facts;
    struct err *problem; /* [nproblem] */
    size_t nproblem;
};

/* Read what folder dir holds.  -1 and *e when it is no folder, or nothing in
 * it can be shown. */
int run_read(struct run *r, const char *dir, struct err *e);
void run_release(struct run *r);

/* Read PATH: 1; 0, nothing there; -1 and *e. */
int eval_read(struct eval *v, const char *path, struct err *e);
void eval_release(struct eval *v);

/* A figure of a model, over all sources for source NONE; or NAN. */
double eval_real(const struct eval *v, size_t model, size_t source,
    const char *column);
/* Models that were trained: neither base nor from. */
int eval_trained(const struct eval *v, size_t model);
/* Model i minus model k in a quantity, with its standard error; 0 if it is not
 * in the file. */
int eval_pair(const struct eval *v, size_t i, size_t k, const char *quantity,
    double *difference, double *se);

/* Mean of a column over the last tenth of the steps, or NAN; tokens a second
 * over all steps whose time is known. */
double log_last(const struct log *g, int column);
double log_speed(const struct log *g);
/* The evaluation of least loss, < nheld where there are any; a loss that is NaN
 * is never the least while another is a number. */
size_t log_best(const struct log *g);
/* Every step of the two saw and scored as many tokens: they are taken to have
 * seen the same batches. */
int log_alike(const struct log *a, const struct log *b);

#endif
