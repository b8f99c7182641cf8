/* Options and state of teacher; see teacher(1). */
#ifndef TEACHER_H
#define TEACHER_H

#include "base/mem.h"
#include "base/pool.h"
#include "cli/opt.h"
#include "dist/dist.h"
#include "model/forward.h"
#include "model/share.h"
#include "msg/batch.h"
#include "msg/msg.h"

#include <stddef.h>

/* Options, as teacher(1) has them; dtype 0 is half precision. */
struct args {
    const char *model, *out, *hidden, *student, *cpus, *numa;
    size_t threads, micro, top, sample, seed;
    double tau;
    int published, final, no_head, dtype, compute;
    /* options of ranks */
    int mpi;
    size_t tensor;  /* ranks that share heads and channels; 1: none do */
    size_t context; /* ranks that share the tokens of a row; 1: none do */
    int shard;      /* SHARD_... */
    int overlap;
    const char *comm_log;
    double rank_timeout; /* seconds */
};

/* A stream, and how far it has come.  Only rank 0 of the ranks that work on it
 * has opened it. */
struct lane {
    char *from, *to;
    struct msg_in *in;
    struct msg_out *out;
    struct msg m;   /* the last message read */
    struct buf raw; /* on other ranks: its bytes, as rank 0 has sent them */
    int introduced; /* the teacher message has been sent */
    int ended;      /* on rank 0: the stream is over, or its reader has left */
    int over;       /* on all ranks */
};

struct teacher {
    struct args *a;            /* choose_taps adds what they leave open */
    const struct opt *options; /* option table */
    struct model m;
    struct model_share share; /* --tensor: this rank's share */
    struct shard *shard;      /* --shard, or NULL */
    const struct model *run;  /* model to run: m, or that of share or shard */
    struct dist_group team;   /* ranks that work on one stream at a time */
    struct lane *lane;        /* [lanes] streams of the team */
    size_t lanes, first;      /* their number, and that of the first one */
    size_t row0, row1;        /* rows of the batch that this rank runs */
    size_t *at; /* [team.n+1] tokens at which ranks' parts begin */
    struct pool *pool;
    struct fwd *fwd; /* for micro rows of T tokens */
    size_t micro, T;
    float *x;                  /* [B,T,d] */
    unsigned char *tap;        /* [L] 1: the block's output is sent */
    size_t last;               /* blocks to run */
    size_t cap;                /* floats that x has room for */
    struct top *top;           /* --top and --sample, or NULL */
    int sends_states;          /* final states or outputs of blocks are sent */
    size_t program;            /* bytes of memory in use beside all of this */
    int told;                  /* the first batch has been sent */
    struct rounding *rounding; /* of the first batch; or NULL */
    struct batch batch;
    struct msg_in *in; /* of the stream that is worked on */
    struct msg_out *out;
};

#endif
