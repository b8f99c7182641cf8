/*
 * The prediction for a process of student on this machine, and for its teacher:
 * memory to the byte, by the code that allocates it; FLOP of a token; and, if
 * asked for, the time of a step, measured with a few of the blocks.
 */
#ifndef PLAN_PROCESS_H
#define PLAN_PROCESS_H

#include "network.h"
#include "request.h"
#include "figures.h"
#include "base/pool.h"
#include "model/config/config.h"
#include "train/effective.h"

#include <stddef.h>

/* Options of plan-run(1). */
struct process {
    struct request in;
    size_t threads;
    int compute, act, grad, moments;
    int chosen;                 /* 1: --compute was not given, and compute is
                                 * the default of retort distil */
    int final;                  /* 1: predict for teacher --final, which sends
                                 * its final states but not those of blocks */
    int measure;                /* 1: time a step */
    struct job network;         /* its nodes, and what is between them */
    struct effective effective; /* set by --qat and --mask */
};

/* A model's configuration and blocks, without its weights. */
struct layout {
    struct config c;
    struct block_shape *block; /* [L] */
    size_t params;
    size_t head_bytes; /* bytes of student's copy of this model's head */
    double fetched;    /* bytes to download before the run; 0 if the model's
                        * files exist */
    size_t window;     /* plan_window of the weights as stored; 0: there are
                        * no weights */
};

enum { PROCESS_TOP = 64 }; /* top tokens of a stored target, without --top */

/* Number of ranks: those of a launcher (dist_begin), or one for each node. */
size_t process_ranks(const struct process *o);
/* Add the figures of this process or, under a launcher (dist_begin), of one
 * rank, with rows divided among ranks.  Dies if a model cannot be read. */
void process_predict(struct figures *f, const struct process *o);

/* Add the figures "time.*", seconds of a step of student m and teacher t (NULL:
 * none), measured with a few blocks: measure.c. */
void measure_step(struct figures *f, const struct layout *m,
    const struct layout *t, const struct process *o, struct pool *pool);

/* Bytes of the three programs of a run, from the figures of a prediction.
 * stream holds two messages, as student does. */
struct programs {
    double student, teacher, stream;
};
struct programs process_programs(const struct figures *f);

#endif
