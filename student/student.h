/* The parts of student, which distils or trains a model; see student(1). */
#ifndef STUDENT_H
#define STUDENT_H

#include "base/err.h"
#include "dist/dist.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "format/ckpt.h"
#include "format/json.h"
#include "format/targets.h"
#include "model/effective.h"
#include "train/adamw.h"
#include "train/param_shards.h"
#include "train/pipe.h"
#include "train/plan.h"
#include "train/ranks.h"
#include "train/step.h"
#include "cli/opt.h"

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
    char head_hash[33]; /* of the stream's teacher, or "" */
    int taught;         /* there was a `teacher` message, and what it */
    size_t vocab;       /* says; 0, NAN: nothing */
    double temperature;
    size_t *map;         /* [L] teacher block of each student block; NULL: */
    const char *map_how; /*   not known */
    size_t tL, td;       /* the teacher's blocks, and their width */
    size_t L, d, V;
    int half;               /* as feed_open was told */
    struct targets targets; /* of the batch at hand */
    struct msg first;       /* the first batch has been read ahead */
    int ahead;
};
/* Open input, read the preamble and the first batch.  teacher_path may be
 * NULL.  ahead: bytes to read ahead of a message, 0: all.  half: products are
 * in bfloat16, so that a head, which only they read, is held as that. */
void feed_open(struct feed *f, const char *input, const char *teacher_path,
    size_t ahead, int half, const struct model *student);
/* How the first batch tells the distributions of tokens: of what it holds, a
 * final state if the head is there to read it, else draws, else top tokens.
 * Does it show the blocks of the map? */
enum targets_kind feed_kind(const struct feed *f);
int feed_has_hidden(const struct feed *f);
/* From here on batches are read for these: f->targets.  Dies if tokens are
 * another vocabulary's, or made for another temperature than tau.  A final
 * state is read by a head of another size too: both models' distributions
 * are then over the ids of the stream's tokenizer. */
void feed_use(struct feed *f, enum targets_kind kind, int hidden, double tau);
/* From the first batch on again, of an input that is no pipe.  After -1 only
 * feed_again, or the end of the program, may follow. */
int feed_again(struct feed *f, const char *input, size_t ahead, struct err *e);
/* The stream continues another: its first batch must follow p. */
void feed_check_successor(struct feed *f, const struct position *p);
/* Next batch: 1, 0 at the end, -1 damage. */
int feed_next(struct feed *f, struct err *e);
void feed_close(struct feed *f);

/* ---- save.c: what is kept ---- */

struct progress_state {    /* beside weights and moments */
    uint64_t step, tokens; /* steps applied; tokens taken, no padding */
    /* Evaluations of held-out batches: the step of the last (0: none yet) and
     * of the best one, how many there were since that, and its loss. */
    uint64_t judged, best, since;
    double best_loss;
};

/*
 * A checkpoint is written by a thread of its own while the next step's
 * gradients are made, which only read what it writes; parameters and moments
 * change when it has written them.  So there is no copy of them.
 */
struct saver {
    const char *run;
    const struct dist_group *ranks; /* of which 0 writes: what is not moments */
    struct dir_lock lock_run;       /* of RUN, for this rank */
    int new_run; /* RUN's place among what is removed at the end; 0: it stays */
    int tokenizer;             /* are its files in `run`? */
    const struct fetch *fetch; /* to write weights; NULL: all are here */
    size_t keep;
    FILE *log;     /* RUN/metrics.tsv */
    double logged; /* when its last line was, by clock_now */
    /* the checkpoint at hand */
    struct tmodel *t;
    struct adamw *a;
    struct progress_state st;
    struct position at;
    struct dir_new dir;
    pthread_t thread;
    int running; /* thread is to be joined */
    pthread_mutex_t lock;
    pthread_cond_t change;
    int written, over; /* *t and *a; all */
    int result;
    struct err e;
};
/* Of several ranks the functions below are called by all.  Make RUN and lock
 * it; refuse one that holds a run unless resume. */
void saver_open(struct saver *s, const char *run, int resume);
/* The first step can be made: RUN stays, whatever comes. */
void saver_started(struct saver *s);
/* The lock goes. */
void saver_close(struct saver *s);
/* Begin to write RUN/step-N of *t's parameters and *a, which must stay as they
 * are until save_written.  One at a time: waits for the one before; -1: that
 * failed, or a rank's part of the moments, which is written at once. */
int save_begin(struct saver *s, struct tmodel *t, struct adamw *a,
    const struct progress_state *st, const struct position *p, struct err *e);
/* Wait until *t and *a have been written; until all is done.  -1: it failed,
 * and nothing is left of it. */
int save_written(struct saver *s, struct err *e);
int save_done(struct saver *s, struct err *e);
/* Load moments and counters of a checkpoint (its weights are read by opening
 * it as a model), and masks, which remain as they are where a run with --mask
 * was begun without. */
int load_checkpoint(const char *dir, struct tmodel *t, struct adamw *a,
    struct progress_state *st, struct err *e);
/* The masks of a model that has some (tmodel_mask_bytes), masks.c; what is read
 * must leave out zeros alone, unless they are chosen anew. */
int save_masks(const char *file, const struct tmodel *t, struct err *e);
int load_masks(const char *file, struct tmodel *t, struct err *e);
/* The finished model, effective weights, into RUN itself; config.json last, so
 * that RUN is a model only when it is whole. */
int save_final(struct saver *s, struct tmodel *t, struct err *e);
/* RUN/best leads to the checkpoint of that step, if there is one. */
int save_best(const char *run, uint64_t step, struct err *e);
/* A log RUN/NAME: keep its head and the lines up to `step`, append from there.
 * *last: the step of the last line kept, or 0.  Dies if it cannot. */
FILE *log_open(const char *run, const char *name, const char *head,
    uint64_t step, uint64_t *last);
/* metrics.tsv. */
void metrics_open(struct saver *s, uint64_t step);
int metrics_add(struct saver *s, const struct progress_state *st,
    const struct loss_sum *sum, double loss, double lr, double norm,
    struct err *e);

/* ---- student.c: what was asked for ---- */

/* Options, as student(1) has them; act, grad, moments: 1 is bf16. */
struct args {
    const char *model, *run, *tokenizer, *teacher, *ce, *kl, *sh, *override,
        *eval, *mask;
    size_t threads, seed, steps, accum, micro, warmup, save, keep, ahead,
        eval_every, patience, remask;
    double kl_beta, lr, floor, tau, beta1, beta2, eps, decay, clip, lr_embed,
        max_time, rank_timeout, mask_decay;
    int kl_direction, schedule, recompute, resume, decay_embed, compute, act,
        grad, moments, deterministic, wire, qat;
    size_t level, stages;
    const char *comm_log, *timeline, *cpus, *numa;
    int deepspeed, overlap, node_copy;
};

/* Batches that are judged beside training. */
struct held_out {
    struct feed feed;
    char hash[33]; /* chain of the stream after its first batch */
    size_t T;
    size_t head; /* bytes of it in the stream */
    struct loss_opt loss;
    struct step_judge *judge;
    FILE *log; /* RUN/held-out.tsv */
};

struct student {
    const struct args *a;
    char *command;              /* as it was given */
    struct effective effective; /* what --qat and --mask say */
    const struct opt *options;  /* the table they are from, */
    json_t *defaults;           /* and its values before they were given */
    struct dist_group ranks;    /* all of them, perhaps one */
    int stop;     /* a signal that stops the run, sent to any rank; or 0 */
    int finished; /* RUN holds the result, and no step is left */
    size_t rows;  /* of a message that are this rank's, at most: */
    size_t first_row, row_stride; /* these */
    size_t rows_of_all;           /* of the first message, of all ranks, */
    size_t most_rows;             /* and of the one that has most */
    struct pool *pool;
    struct tmodel t;
    struct adamw *opt;
    struct param_shards *parts; /* NULL: this process has all parameters */
    struct pipe *pipe;          /* NULL: and all blocks */
    struct step *step;
    struct ranks *sum;
    struct feed feed;
    struct held_out held;
    struct saver saver;
    struct loss_opt loss;
    struct progress_state st;
    struct position at;  /* of the last step applied */
    uint64_t kept;       /* hash of rank_keep; 0: none */
    uint64_t saved;      /* step of the last checkpoint */
    uint64_t before;     /* tokens of earlier runs */
    double last;         /* loss of the last step */
    char model_hash[33]; /* of the file or folder of --model */
    size_t program;      /* memory in use beside the weights */
    size_t total;        /* steps of the schedule; 0: not known */
};

/* ---- rank.c: one of several ranks; one rank alone is rank 0 ---- */

/* Start as a rank, if a launcher has started this.  Other ranks than 0 are
 * silent but for errors, which tell their numbers. */
void rank_begin(struct student *s);
/* Their logs, at the end. */
void rank_end(struct student *s);
/* The newest checkpoint, as rank 0 finds it, and s->at; NULL: none. */
char *rank_newest(struct student *s);
/* The first message has so many rows of that length: which rows are of this
 * rank.  An input made by stream --rank has those alone, of any other a rank
 * takes rows r, r+n, ... of each message. */
void rank_rows(struct student *s, size_t rows, size_t length);
/* Where each rank has all parameters, are they the same to the bit?  -1 and *e
 * (EX_RANK) on all ranks: it names those that differ from most. */
int rank_same(const struct student *s, struct err *e);
/* Of moments in parts, a bit that flips in the part of the parameters that this
 * rank updates would go to all: rank_keep hashes that part, and
 * rank_unchanged, before the next update, sees whether it is as it was.  -1 and
 * *e (EX_RANK), on this rank alone. */
void rank_keep(struct student *s);
int rank_unchanged(const struct student *s, struct err *e);
/* r is 1, 0 or -1 and *e: what all ranks have, and -1 where they differ.  Sets
 * s->stop. */
int rank_agree(struct student *s, int r, struct err *e);

/* ---- alike.c: what all ranks need in common; of one rank nothing ---- */

/* Die (EX_USAGE), on all ranks, if they have other options, kernels or versions
 * of the program.  Before anything depends on options. */
void alike_options(const struct student *s);
/* Die if they have other models, checkpoints or held-out batches (EX_USAGE), or
 * other streams (EX_INPUT).  After what they read has been opened, before the
 * first batch is taken. */
void alike_inputs(const struct student *s);

/* ---- prepare.c ---- */

/* Open the input, load or make the model, decide on losses, length and memory:
 * until the first step.  Dies if anything does not fit. */
void prepare(struct student *s, const char *input);

/* ---- held_out.c: --eval; without it they do nothing ---- */

/* After the losses of training are known.  Dies if the batches cannot be judged
 * beside it. */
void held_out_open(struct student *s);
/* After step_new; adds what it takes. */
void held_out_plan(struct student *s, struct plan_load *l);
/* The log, and RUN/best as the checkpoint has it. */
void held_out_begin(struct student *s);
/* After a step, before its checkpoint: if it is time, judge, and set what
 * s->st says of evaluations.  0, or -1 and *e. */
int held_out_judge(struct student *s, struct err *e);
/* Has --patience come to its end? */
int held_out_over(const struct student *s);
void held_out_tell(const struct student *s); /* at the end */
void held_out_close(struct student *s);

/* ---- rounding.c: what half precision costs, never silently ---- */

/* Before the first step, its batch at hand: loss and gradient of the first rows
 * with products in bfloat16 and in fp32.  No bit of the run depends on it. */
void tell_compute(struct student *s);
/* After the first step: what is kept in bf16. */
void tell_rounding(const struct student *s);

/* ---- again.c: how a run that was stopped goes on ---- */

/* The words of a command, quoted for a shell; the caller frees it. */
char *again_command(int argc, char **argv);
/* Say which command goes on with the run. */
void again_tell(const struct student *s);

/* ---- train.c ---- */

/* Train until the stream or --steps ends it; the exit status. */
int train(struct student *s);
/* After train has ended so, in `wall` seconds: the finished model and the
 * closing line. */
void finish(struct student *s, int status, double wall);

#endif
