/* The parts of student, which distils or trains a model; see student(1). */
#ifndef STUDENT_H
#define STUDENT_H

#include "base/err.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "format/ckpt.h"
#include "model/backward.h"
#include "train/adamw.h"
#include "train/step.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

/* ---- feed.c: what arrives ---- */

/* A message unpacked for the step, and what the teacher knows of it. */
struct feed {
    struct msg_in *in;
    const char *name;
    struct batch batch;
    struct position pos; /* of the last batch taken */
    struct stream_info info;
    struct model teacher; /* --teacher: its head is used */
    int have_model;
    unsigned char *head_mem; /* head of the `teacher` message */
    struct weight head;
    size_t td; /* teacher's hidden size; 0: no teacher */
    size_t tlayers;
    char head_hash[33]; /* of the stream's teacher, or "" */
    int taught;         /* there was a `teacher` message, and what it */
    size_t vocab;       /* says; 0, NAN: nothing */
    double temperature;
    size_t top, draws; /* tokens of each prediction, most probable
                                 * and drawn, in the first batch */
    /* decided by weights and the first batch */
    int use_final, use_top, use_draws, use_hidden;
    const size_t *map; /* [L] teacher block of each student block */
    size_t L, d, V;
    const void *final; /* of the batch at hand, or NULL */
    const void *top_ids, *top_logp, *top_lse; /* likewise */
    const void *draw_ids, *draw_count, *draw_self;
    enum dtype final_dtype, hidden_dtype, top_dtype, draw_dtype;
    const void **hidden; /* [L] */
    struct msg first;    /* the first batch has been read ahead */
    int ahead;
};
/* Open input, read the preamble and the first batch.  teacher_path may be
 * NULL.  ahead: bytes to read ahead of a message, 0: all.  t: the student
 * (vocabulary, sizes). */
void feed_open(struct feed *f, const char *input, const char *teacher_path,
    size_t ahead, const struct model *student, const size_t *map);
/* Does the first batch hold the final states, and is the head there to read
 * them; hidden states of all blocks in the map? */
int feed_has_final(const struct feed *f);
int feed_has_hidden(const struct feed *f);
/* The teacher's tokens are to be used at tau: dies if they are another
 * vocabulary's, or made for another temperature. */
void feed_check_tokens(const struct feed *f, double tau);
/* The stream continues another: its first batch must follow p. */
void feed_check_successor(struct feed *f, const struct position *p);
/* Next batch: 1, 0 at the end, -1 damage. */
int feed_next(struct feed *f, struct err *e);
void feed_close(struct feed *f);

/* ---- save.c: what is kept ---- */

struct progress_state {    /* beside weights and moments */
    uint64_t step, tokens; /* steps applied; tokens taken, no padding */
};

/*
 * A checkpoint is written by a thread of its own while the next step's
 * gradients are made, which only read what it writes; parameters and moments
 * change when it has written them.  So there is no copy of them.
 */
struct saver {
    const char *run;
    const char *tokenizer; /* where tokenizer files come from, or NULL */
    size_t keep;
    FILE *log;     /* RUN/metrics.tsv */
    double logged; /* when its last line was, by clock_now */
    /* the checkpoint at hand */
    struct tmodel *t;
    struct adamw *a;
    struct progress_state st;
    struct position at;
    pthread_t thread;
    int running; /* thread is to be joined */
    pthread_mutex_t lock;
    pthread_cond_t change;
    int written, over; /* *t and *a; all */
    int result;
    struct err e;
};
/* Make RUN and lock it; refuse one that holds a run unless resume. */
void saver_open(struct saver *s, const char *run, int resume);
/* Begin to write RUN/step-N of *t and *a, which must stay as they are until
 * save_written.  One at a time: waits for the one before; -1: that failed. */
int save_begin(struct saver *s, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, const struct position *p, struct err *e);
/* Wait until *t and *a have been written; until all is done.  -1: it failed,
 * and nothing is left of it. */
int save_written(struct saver *s, struct err *e);
int save_done(struct saver *s, struct err *e);
/* Load moments and counters of a checkpoint (its weights are read by opening
 * it as a model). */
int load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct progress_state *st, struct err *e);
/* The finished model into RUN itself; config.json last, so that RUN is a
 * model only when it is whole. */
int save_final(struct saver *s, struct tmodel *t, struct err *e);
/* metrics.tsv: keep the lines up to `step`, append from there. */
void metrics_open(struct saver *s, uint64_t step);
int metrics_add(struct saver *s, const struct progress_state *st,
    const struct loss_sum *sum, double loss, double lr, double norm,
    struct err *e);

#endif
