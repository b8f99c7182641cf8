/* Options and state of a run; see student(1). */
#ifndef STUDENT_H
#define STUDENT_H

#include "feed.h"
#include "held_out.h"
#include "save.h"
#include "settings.h"
#include "cli/opt.h"
#include "dist/dist.h"
#include "format/json.h"
#include "model/effective.h"
#include "train/param_shards.h"
#include "train/pipe.h"
#include "train/ranks.h"

#include <stddef.h>
#include <stdint.h>

/* Values of the options of student(1); act, grad, moments: 1: bf16. */
struct args {
    const char *model, *run, *tokenizer, *teacher, *ce, *kl, *sh, *direction,
        *schedule, *adam, *resume, *override, *eval, *mask;
    size_t threads, seed, steps, accum, micro, warmup, save, keep, ahead,
        eval_every, patience, remask;
    double lr, tau, decay, clip, max_time, rank_timeout, mask_decay;
    int published, recompute, compute, act, grad, moments, deterministic, wire,
        qat;
    size_t level, stages;
    const char *comm_log, *timeline, *cpus, *numa;
    int overlap, node_copy;
};

struct student {
    const struct args *a;
    char *command;              /* command line, quoted for a shell */
    char *changes;              /* options that differ from their defaults, as
                                 * opt_changes appends them; or NULL */
    struct settings settings;   /* options whose value has several parts */
    struct effective effective; /* --qat and --mask */
    const struct opt *options;  /* option table */
    json_t *defaults;           /* values of the table before parsing */
    struct dist_group ranks;    /* all ranks, perhaps one */
    int stop;     /* signal that stops the run, sent to any rank; or 0 */
    int finished; /* 1: RUN holds the result, and no step is left */
    size_t rows;  /* rows of a message that this rank trains on, at most */
    size_t first_row, row_stride; /* they are rows first_row + k * row_stride */
    size_t rows_of_all;           /* rows of the first message on all ranks */
    size_t most_rows;             /* rows of that message that a rank has, at
                                   * most */
    struct pool *pool;
    struct tmodel t;
    struct adamw *opt;
    struct param_shards *parts; /* NULL: this process has all parameters */
    struct pipe *pipe;          /* NULL: this process has all blocks */
    struct step *step;
    struct ranks *sum;
    struct feed feed;
    struct held_out held;
    struct saver saver;
    struct loss_opt loss;
    struct progress_state st;
    struct position at;  /* place of the last batch of an applied step */
    uint64_t kept;       /* hash from rank_keep; 0: none */
    uint64_t saved;      /* step of the last checkpoint */
    uint64_t before;     /* tokens trained on before this process began */
    double last;         /* loss of the last step */
    char model_hash[33]; /* hash of the file or folder of --model */
    size_t program;      /* bytes of memory in use besides the weights */
    size_t total;        /* steps of the schedule; 0: not known */
    size_t warmup;       /* steps of warm-up */
};

#endif
