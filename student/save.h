/* Files of a run: checkpoints, the finished model, logs. */
#ifndef STUDENT_SAVE_H
#define STUDENT_SAVE_H

#include "base/err.h"
#include "dist/dist.h"
#include "format/ckpt.h"
#include "model/fetch.h"
#include "train/adamw.h"
#include "train/step.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

/* Counters that a checkpoint holds beside weights and moments. */
struct progress_state {
    uint64_t step;   /* steps applied */
    uint64_t tokens; /* tokens trained on, without padding */
    /* held-out evaluations; 0: none yet */
    uint64_t judged;  /* step of the last one */
    uint64_t best;    /* step of the best one */
    uint64_t since;   /* evaluations after the best one */
    double best_loss; /* nats */
};

/*
 * A checkpoint is written by a thread of its own while the next step's
 * gradients are made, which only read what it writes; parameters and moments
 * change when it has written them.  So there is no copy of them.
 */
struct saver {
    const char *run;
    const struct dist_group *ranks; /* rank 0 writes all but moments in parts */
    struct dir_lock lock_run;       /* of RUN, for this rank */
    int new_run;   /* io_remember's number of a RUN made now; 0: RUN stays */
    int tokenizer; /* RUN has the tokenizer's files */
    const struct fetch *fetch; /* to write weights; NULL: all are here */
    size_t keep;               /* checkpoints kept; 0: all */
    FILE *log;                 /* RUN/metrics.tsv */
    double logged;             /* clock_now at its last line */
    /* the checkpoint that is being written */
    struct tmodel *t;
    struct adamw *a;
    struct progress_state st;
    struct position at;
    struct dir_new dir;
    pthread_t thread;
    int running; /* thread is to be joined */
    pthread_mutex_t lock;
    pthread_cond_t change;
    int written; /* *t and *a may change again */
    int over;    /* the thread is done */
    int result;
    struct err e;
};
/* All ranks call the functions below together. */
/* Make RUN and lock it; die if it holds a run, unless resume. */
void saver_open(struct saver *s, const char *run, int resume);
/* The first step can be made: RUN stays, whatever comes. */
void saver_started(struct saver *s);
/* Release the lock. */
void saver_close(struct saver *s);
/* Begin to write RUN/step-N of *t's parameters and *a, which must stay as they
 * are until save_written.  Waits for the checkpoint before.  -1 and *e: that
 * failed, or a rank could not write its part of the moments, which is written
 * at once. */
int save_begin(struct saver *s, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, const struct position *p, struct err *e);
/* Wait until *t and *a have been written / until the checkpoint is complete.
 * -1 and *e: it failed, and nothing of it is left. */
int save_written(struct saver *s, struct err *e);
int save_done(struct saver *s, struct err *e);
/* Load moments, counters and masks of a checkpoint; its weights have been read
 * by opening it as a model.  Masks stay as they are where the run began without
 * --mask. */
int load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct progress_state *st, struct err *e);
/* Write the finished model, effective weights, into RUN itself; config.json
 * last, so that RUN is a model only when it is complete. */
int save_final(struct saver *s, struct tmodel *t, struct err *e);
/* Lead RUN/best to the checkpoint of that step, if there is one. */
int save_best(const char *run, uint64_t step, struct err *e);
/* Open a log RUN/NAME to append to, with its head and the lines up to `step`.
 * *last: the step of the last line kept, or 0.  Dies if it cannot. */
FILE *log_open(const char *run, const char *name, const char *head,
    uint64_t step, uint64_t *last);
/* Open RUN/metrics.tsv, and add a line to it. */
void metrics_open(struct saver *s, uint64_t step);
int metrics_add(struct saver *s, const struct progress_state *st,
    const struct loss_sum *sum, double loss, double lr, double norm,
    struct err *e);

#endif
