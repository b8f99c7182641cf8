/* Options and state of teacher; see teacher(1). */
#ifndef TEACHER_H
#define TEACHER_H

#include "share.h"
#include "base/mem.h"
#include "base/pool.h"
#include "cli/opt.h"
#include "cli/setup.h"
#include "dist/dist.h"
#include "model/pass/forward.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <stddef.h>

/* Values of the options of teacher(1); dtype 0: half precision. */
struct args {
    const char *model, *out, *hidden, *student;
    const char *student_tokenizer;
    struct setup setup;
    size_t micro, top, sample, seed;
    double tau;
    int published, final, no_head, dtype;
    /* options of ranks */
    int mpi;
    size_t tensor;  /* ranks that divide heads and channels; 1: off */
    size_t context; /* ranks that divide the tokens of a row; 1: off */
    int shard;      /* SHARD_... */
    int overlap;
    const char *comm_log;
    double rank_timeout; /* seconds */
};

/* A stream from input to output.  Only rank 0 of its team has opened it. */
struct lane {
    char *from, *to; /* addresses */
    struct msg_in *in;
    struct msg_out *out;
    struct msg m;   /* the last message read */
    struct buf raw; /* on ranks other than 0: bytes of m, sent by rank 0 */
    int introduced; /* > 0: the `teacher` message has been sent */
    int ended;      /* 1, on rank 0: the input is over, or the reader has
                     * left */
    int over;       /* 1, on all ranks: nothing is left to do for this stream */
};

struct teacher {
    struct args *a;            /* options; choose_taps may set `final` */
    const struct opt *options; /* option table */
    struct model m;
    struct model_share share; /* --tensor: this rank's share */
    struct shard *shard;      /* --shard, or NULL */
    const struct model *run;  /* model to run: m, share's or shard's */
    struct dist_group team;   /* ranks that work on one stream at a time */
    struct lane *lane;        /* [lanes] streams of the team */
    size_t lanes;             /* number of lanes */
    size_t first;             /* number, among all streams, of lane[0] */
    size_t row0, row1;        /* this rank runs rows row0 to row1 - 1 */
    size_t *at; /* [team.n+1] first token of each rank's part of the batch */
    struct pool *pool;
    struct fwd *fwd; /* for micro rows of T tokens */
    size_t micro, T;
    float *x;                  /* [B,T,d] states */
    unsigned char *tap;        /* [L] 1: the block's output is sent */
    size_t last;               /* number of blocks to run */
    size_t cap;                /* floats allocated for x */
    struct top *top;           /* --top and --sample, or NULL */
    int sends_states;          /* 1: final states or blocks' outputs are sent */
    size_t program;            /* bytes in use before the model was run */
    int told;                  /* 1: the first batch's message has begun */
    struct rounding *rounding; /* during the first batch, else NULL */
    struct batch batch;        /* the current batch, as the model runs it */
    /* --student-tokenizer if it is not the model's, else NULL.  `batch` is then
     * converted from `came`, the batch of the stream. */
    struct student_tokenizer *student;
    struct batch came;
    struct msg_in *in; /* input and output of the current stream */
    struct msg_out *out;
};

#endif
