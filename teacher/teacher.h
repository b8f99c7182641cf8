/* The parts of teacher; see teacher(1). */
#ifndef TEACHER_H
#define TEACHER_H

#include "base/err.h"
#include "base/pool.h"
#include "cli/opt.h"
#include "dist/dist.h"
#include "msg/batch.h"
#include "msg/msg.h"
#include "model/forward.h"
#include "model/share.h"

#include <stddef.h>
#include <stdint.h>

/* top.c: instead of states, what they say. */
struct top_opt {
    size_t k;      /* most probable tokens; 0: none */
    int half;      /* their log-probabilities in half precision */
    size_t draws;  /* tokens drawn by chance; 0: none */
    uint64_t seed; /* of chance, with a token's document and place */
    double tau;    /* the student's temperature */
};
struct top;
struct top *top_new(const struct model *m, struct pool *pool,
    const struct top_opt *o);
void top_free(struct top *t);
/* Announce the tensors of B rows of T tokens; then, when those before them are
 * sent, make and send them.  x [B,T,d] final states of b.  Each rank of team
 * looks at its tokens at[rank]..at[rank+1] alone; the one that has w sends, the
 * others' is NULL.  Returns as msg_send; -1 and EX_NUM: a logit is not
 * finite. */
void top_begin(const struct top *t, struct st_out *o, size_t B, size_t T);
int top_send(struct top *t, struct fwd *f, const float *x,
    const struct batch *b, const struct dist_group *team, const size_t *at,
    struct msg_out *w, struct err *e);
/* Tell how much of the distributions all that held. */
void top_tell(const struct top *t);
/* Memory it takes for n tokens. */
size_t top_bytes(const struct top *t, size_t n);

/* round.c: what sending states in bf16 costs.  rounding_add: n states
 * x [n,d] of tokens whose `first` says which are padding; final: after the
 * final norm.  rounding_tell prints and frees. */
struct rounding;
struct rounding *rounding_new(const struct model *m, struct pool *pool);
size_t rounding_bytes(const struct rounding *r); /* memory it takes */
void rounding_add(struct rounding *r, const struct model *m, const float *x,
    const uint32_t *first, size_t n, int final);
void rounding_tell(struct rounding *r, const struct model *m,
    struct pool *pool);

/* shard.c: the matrices of m's first blocks, which alone are run, in parts:
 * each rank of g has one, and block after block is gathered, with dist_overlap
 * the next one while one is run.  The model with them is valid as long as all
 * three. */
enum { SHARD_NONE, SHARD_NODE, SHARD_WORLD };
struct shard;
struct shard *shard_new(const struct model *m, const struct dist_group *g,
    size_t blocks);
void shard_free(struct shard *s);
const struct model *shard_model(const struct shard *s);
/* Memory: of this rank's parts, which are read; with room for whole blocks. */
size_t shard_own_bytes(const struct shard *s);
size_t shard_bytes(const struct shard *s);
const struct dist_group *shard_group(const struct shard *s);

/* Options, as teacher(1) has them; dtype 0 is half precision. */
struct args {
    const char *model, *out, *hidden, *student, *cpus, *numa;
    size_t threads, micro, top, sample, seed;
    double tau;
    int final, no_head, dtype, compute;
    /* of ranks */
    int mpi;
    size_t tensor;  /* that share the model's heads and channels; 1: none do */
    size_t context; /* that share rows; 1: none do */
    int shard;      /* SHARD_... */
    int overlap;
    const char *comm_log;
    double rank_timeout; /* seconds */
};

/* A stream, and how far it has come.  What is open is that of rank 0 of those
 * that work on it. */
struct lane {
    char *from, *to;
    struct msg_in *in;
    struct msg_out *out;
    struct msg m;    /* at hand */
    struct buf raw;  /* other ranks: what rank 0 has sent of it */
    int introduced;  /* the teacher message has been sent */
    int ended, over; /* on rank 0, perhaps by its reader; on all ranks */
};

struct teacher {
    struct args *a;            /* choose_taps adds what they leave open */
    const struct opt *options; /* the table they are from */
    struct model m;
    struct model_share share; /* --tensor: this rank's, */
    struct shard *shard;      /* --shard, or NULL */
    const struct model *run;  /* which is run: one of these, or m */
    struct dist_group team;   /* ranks that work on one stream at a time */
    struct lane *lane;        /* [lanes] their streams, */
    size_t lanes, first;      /* by number from `first` on */
    size_t row0, row1, *at;   /* of the batch: rows that this rank runs; [team.n
                               * + 1] tokens of which each has a part */
    struct pool *pool;
    struct fwd *fwd; /* for micro rows of T tokens */
    size_t micro, T;
    float *x;                  /* [B,T,d] */
    unsigned char *tap;        /* [L] 1: hidden state of the block is sent */
    size_t last;               /* blocks to run */
    size_t cap;                /* of x, floats */
    struct top *top;           /* --top, or NULL */
    int sends_states;          /* a final state or those of blocks */
    size_t program;            /* memory in use beside all of this */
    int told;                  /* the first batch has been sent */
    struct rounding *rounding; /* of the first batch; or NULL */
    struct batch batch;
    struct msg_in *in; /* of the stream at hand, as in struct lane */
    struct msg_out *out;
};

/* introduce.c: are tokens added?  The `teacher` message, which says who it is
 * and brings the head where it is needed.  Returns as msg_send. */
int speaks(const struct teacher *t);
int send_self(struct teacher *t, struct err *e);

/* states.c: which blocks to tap, by --hidden, and how many to run; dies when
 * there is nothing to add.  Then a batch with what is added, of which only the
 * states of one block are in memory.  By all ranks of the team; m is that of
 * the one which sends.  Returns as msg_send. */
void choose_taps(struct teacher *t);
int send_batch(struct teacher *t, const struct msg *m, struct err *e);
/* The part that a rank without a batch has in those of others. */
void run_none(struct teacher *t);

/*
 * rank.c: one of several ranks, with --mpi; one alone is rank 0 of 1.
 * rank_begin: before threads.  rank_end: after all else.
 */
/* Ranks that run the same rows. */
size_t rank_together(const struct args *a);
void rank_begin(struct teacher *t);
/* Die (EX_USAGE), on all ranks, if they have other models; of one rank
 * nothing. */
void rank_same_model(const struct teacher *t);
void rank_end(struct teacher *t);
/* After t->m and, with --shard, t->last: t->run. */
void rank_share(struct teacher *t);
/* As fwd_sum calls it; ctx: t->team. */
void rank_sum(void *ctx, float *x, size_t n);
/* The streams from `input` to --output; dies when that does not fit ranks. */
void rank_open(struct teacher *t, const char *input);
void rank_close(struct teacher *t);
/* On rank 0 of the team l->m is a batch, or none is there: to t->batch of all
 * its ranks, and what of it is whose.  0: none. */
int rank_batch(struct teacher *t, struct lane *l, int there);
/* As fwd_context calls it; ctx: t->team. */
void rank_context(void *ctx, float *x, const size_t *at);
/* States of the tokens that each rank of the team has run, to all of it. */
void rank_gather(const struct teacher *t);
double rank_total(double tokens); /* of all ranks */
/* Has this rank, or one that it gathers blocks with, a batch? */
int rank_any(const struct teacher *t, int there);

/* filter.c: the stream `input` to --output, or several. */
void filter(struct teacher *t, const char *input);

#endif
