/* Files of a run: checkpoints, the finished model, logs. */
#ifndef STUDENT_SAVE_H
#define STUDENT_SAVE_H

#include "base/err.h"
#include "base/mem.h"
#include "dist/dist.h"
#include "format/ckpt.h"
#include "model/files/fetch.h"
#include "train/adamw.h"
#include "train/outer.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

/* Letters of the optimiser's states in names of tensors: the two moments,
 * averages. */
#define MOMENT_LETTERS "mve"

/* Counters that a checkpoint holds besides weights and moments. */
struct progress_state {
    uint64_t step;   /* steps applied */
    uint64_t tokens; /* tokens trained on, without padding */
    /* held-out evaluations; 0: none yet */
    uint64_t judged;  /* step of the last evaluation */
    uint64_t best;    /* step of the best evaluation */
    uint64_t since;   /* number of evaluations after the best */
    double best_loss; /* loss of the best evaluation, nats */
    /* gradient norms for --skip-spikes: weighted sum, sum of weights */
    double norms, weights;
};

/*
 * A thread writes a checkpoint while the gradients of the next step are
 * computed, which only reads parameters.  Before the next update the run waits
 * until the thread has written parameters and moments, so no copy of them is
 * needed.
 */
struct saver {
    const char *run;
    const struct dist_group *ranks; /* rank 0 writes all but the other ranks'
                                     * moments or parts of them */
    struct dir_lock lock_run;       /* this rank's lock of RUN */
    int new_run;   /* io_remember's number of a RUN that was just made, to be
                    * removed if the run fails before its first step; 0: keep
                    * RUN */
    int tokenizer; /* 1: RUN has the tokenizer's files */
    const struct fetch *fetch; /* fetches weights of other ranks, or NULL */
    size_t keep;               /* number of checkpoints to keep; 0: all */
    FILE *log;                 /* RUN/metrics.tsv */
    double logged;             /* clock_now at the last line of log */
    struct outer *outer;       /* NULL, or each rank has moments of its own */
    /* The checkpoint that is being written: the thread's while it runs. */
    struct tmodel *t;
    struct adamw *a;
    struct progress_state st;
    struct position at;
    struct dir_new dir;
    int result;
    struct err e;
    pthread_t thread;
    int running; /* 1: thread must be joined; used by the main thread only */
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t change;
    int written; /* 1: *t and *a may change */
    int over;    /* 1: the thread is done */
};
/* Does RUN hold a finished model or adapter? */
int run_is_whole(const char *run);
/* All ranks call the functions below together. */
/* Make RUN and lock it; die if it holds a run, unless resume. */
void saver_open(struct saver *s, const char *run, int resume);
/* Call it before the first step.  If saver_open made RUN, it stays from now on
 * even if the run fails. */
void saver_started(struct saver *s);
/* Release the lock. */
void saver_close(struct saver *s);
/* Begin to write checkpoint RUN/step-N of *t and *a, which must not change
 * until save_written returns.  When save_begin returns, the previous checkpoint
 * is complete, and ranks have written their parts of the moments.  -1 and *e:
 * the previous checkpoint or the beginning of this one failed. */
int save_begin(struct saver *s, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, const struct position *p, struct err *e);
/* Wait until *t and *a have been written.  -1 and *e: the checkpoint failed,
 * and nothing of it is left. */
int save_written(struct saver *s, struct err *e);
/* Wait until the checkpoint is complete.  -1 and *e: as save_written. */
int save_done(struct saver *s, struct err *e);
/* Write the finished model with its effective weights into RUN; config.json
 * last, so that RUN is a model only when it is complete. */
int save_final(struct saver *s, struct tmodel *t, struct err *e);
/* Write the files that save_final would write now, into RUN/best-STEP. */
int save_evaluated(struct saver *s, struct tmodel *t, uint64_t step,
    struct err *e);
/* Make RUN/best a link to best-STEP or, if save_evaluated has not written that,
 * to step-STEP; if neither exists, do nothing.  Remove best-N with N < step. */
int save_best(const char *run, uint64_t step, struct err *e);
/* Open the log RUN/NAME to append to, and remove its lines after `step`.
 * `head` is written to an empty log.  *last: the step of the last line kept, or
 * 0.  Dies on errors. */
FILE *log_open(const char *run, const char *name, const char *head,
    uint64_t step, uint64_t *last);
/* Open RUN/metrics.tsv.  columns: names of the columns between `loss` and `lr`,
 * each followed by a tab. */
void metrics_open(struct saver *s, const char *columns, uint64_t step);
/* Return the seconds that passed since the last call (at first: since
 * metrics_open), and call watch_step with them. */
double metrics_time(struct saver *s);
/* Add a line to metrics.tsv.  scored: number of scored predictions; values:
 * what the line has in `columns` of metrics_open, a tab after each value. */
int metrics_line(struct saver *s, const struct progress_state *st,
    size_t scored, double loss, const struct buf *values, double lr,
    double norm, double seconds, struct err *e);

#endif
