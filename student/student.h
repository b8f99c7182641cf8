/*
 * A run of student, and what a command of student supplies.
 *
 * Every command loads or makes the model, joins the ranks, makes optimiser and
 * step, resumes, keeps options.json, metrics.tsv and checkpoints, and writes
 * the finished model in one and the same way: command.c, prepare.c, steps.c,
 * save.c, record.c, rank.c.  A command (train.c, ...) is a file with a table of
 * options and a struct command, whose functions open the command's inputs and
 * add the gradients of a step.
 */
#ifndef STUDENT_H
#define STUDENT_H

#include "depends.h"
#include "feed.h"
#include "held_out.h"
#include "options.h"
#include "round.h"
#include "save.h"
#include "settings.h"
#include "cli/opt.h"
#include "dist/dist.h"
#include "format/json.h"
#include "model/files/adapter_file.h"
#include "train/effective.h"
#include "train/outer.h"
#include "train/param_shards.h"
#include "train/pipe.h"
#include "train/ranks.h"

#include <stddef.h>
#include <stdint.h>

struct student;

/*
 * A command of student.  Its functions die, or set *e where they have one.  All
 * ranks call them together.
 *
 * Order of calls: check, before the ranks join; open, when s->t has the weights
 * and s->st the counters of the run; lines; begin; planned, when s->step is
 * made; then for each step gather, result, place and, after the update, judge;
 * finish; close.
 */
struct command {
    const char *name;            /* as the user types it: "student dpo" */
    const char *word;            /* "dpo" */
    const char *about, *operand; /* for opt_parse; at most one operand */
    const struct opt *options;   /* groups of options.h, and its own */
    struct args *args;
    /* Names of its columns in metrics.tsv, each followed by a tab. */
    const char *columns;

    /* Choose values that options leave open; refuse options that contradict
     * each other.  The rate may still be NAN: command.c chooses it after
     * this. */
    void (*check)(struct student *s);
    /* Open the inputs, from the step s->st.step on, and set s->in and, for the
     * losses of a step (train/step.h), s->loss; add the contents that the
     * result depends on (depends.h).  input: the operand, or NULL. */
    void (*open)(struct student *s, const char *input);
    /* Open logs that only this command has.  May be NULL. */
    void (*begin)(struct student *s);
    /* Append lines "name TAB value" on where the inputs begin, in which all
     * ranks must agree.  May be NULL. */
    void (*lines)(const struct student *s, struct buf *b);
    /* Add to *l the memory that the command takes besides the step.  May be
     * NULL. */
    void (*planned)(struct student *s, struct plan_load *l);
    /* Add the gradients and losses of one step, by ranks_add and ranks_finish.
     * 1: done; 0: the input is over; -1 and *e: it is damaged. */
    int (*gather)(struct student *s, struct loss_sum *sum, struct err *e);
    /* From the sums of a step over all ranks, return the loss, and set *count,
     * the divisor of the gradient sums (0: there is nothing to learn, and the
     * step is skipped).  Append the values of `columns` to *b, each followed by
     * a tab. */
    double (*result)(struct student *s, const struct loss_sum *sum,
        size_t *count, struct buf *b);
    /* May the run stop and be saved after this step?  NULL: always. */
    int (*whole)(const struct student *s);
    /* Store the place in the inputs in s->at, for checkpoints. */
    void (*place)(struct student *s);
    /* Evaluate (s->st.judged, s->st.best); called after steps of --eval-every.
     * 0; -1 and *e.  NULL: the command has no --eval. */
    int (*judge)(struct student *s, struct err *e);
    /* At the end, print notes.  May be NULL. */
    void (*finish)(const struct student *s);
    void (*close)(struct student *s);
};

/* The inputs of a run, which `open` describes. */
struct inputs {
    const char *name; /* for messages */
    size_t rows, T;   /* rows of the next batch in this input, and tokens of
                       * the longest row; rows 0: no batch is left */
    size_t longest;   /* most tokens of any row, held-out ones too */
    size_t batches;   /* batches of the run; 0: not known */
    size_t accum;     /* batches of a step */
    size_t rank, of;  /* the input has only the rows of rank `rank` of `of`; of
                       * 0: the rows of all ranks */
    int last;         /* 1: the next batch is the last, and may be smaller */
    char tokenizer[33];            /* hash of the tokenizer that made the ids */
    size_t memory;                 /* bytes of a batch in memory */
    const struct targets *targets; /* kind and widths of the targets; NULL: a
                                    * batch has none */
    const struct weight *head;     /* head for the teacher's states, or NULL */
};

struct student {
    const struct command *command;
    void *own; /* state of the command, which its `open` makes */
    const struct args *a;
    char *typed[2];             /* command line, from again_command */
    const char *input;          /* the operand, or NULL */
    char *changes;              /* options that differ from their defaults, as
                                 * opt_changes appends them; or NULL */
    struct settings settings;   /* values of options that have several parts */
    struct effective effective; /* --qat and --mask */
    json_t *defaults;           /* values of the options before parsing */
    struct dist_group ranks;    /* all ranks, perhaps one */
    int stop;     /* signal that stops the run, sent to any rank; or 0 */
    int finished; /* 1: RUN holds the result, and no step is left */
    struct inputs in;
    struct depends depends; /* contents that the result depends on */
    size_t rows;            /* most rows of a batch that this rank trains on */
    size_t first_row, row_stride; /* this rank's rows are first_row + k *
                                   * row_stride */
    size_t rows_of_all;           /* rows of the first batch on all ranks */
    size_t most_rows;             /* most rows of the first batch that a rank
                                   * has */
    struct pool *pool;
    struct tmodel t;
    struct model base;      /* with an adapter: the model that it changes */
    struct adapter adapter; /* the adapter that t.adapter points to, if any */
    struct adamw *opt;
    struct param_shards *parts; /* NULL: this process has all parameters */
    struct outer *outer;        /* --sync-every, else NULL */
    struct round round;
    struct pipe *pipe; /* NULL: this process has all blocks */
    struct step *step;
    struct ranks *sum;
    struct feed feed;     /* student train */
    struct held_out held; /* student train */
    struct saver saver;
    FILE *skipped; /* RUN/skipped.tsv, or NULL */
    struct loss_opt loss;
    struct progress_state st;
    struct position at; /* place of the last batch of an applied step */
    uint64_t kept;      /* hash from rank_keep; 0: none */
    uint64_t saved;     /* step of the last checkpoint */
    uint64_t before;    /* tokens trained on before this process began */
    double last;        /* loss of the last step */
    size_t program;     /* bytes of memory in use besides the weights */
    size_t total;       /* steps of the schedule; 0: not known */
    size_t warmup;      /* steps of warm-up */
};

#endif
