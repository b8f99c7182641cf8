/*
 * Profiles: what the linear layers of a model read, block by block, and how
 * far a block turns what passes through it.  Everything that is kept is a sum
 * over tokens (or a largest value), so that profiles of parts add up to the
 * profile of the whole.  The folder: prune-profile(1).
 *
 * Sums and what follows from them are in profile_sums.c, the walk through the
 * model in profile_walk.c and profile_grad.c, files in profile_files.c, the
 * thread that writes Hessians in hess_out.c.
 */
#ifndef PRUNE_PROFILE_H
#define PRUNE_PROFILE_H

#include "base/dir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "format/safetensors.h"
#include "model/forward.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* A token that is the first of its piece, to which attention sinks, and the
 * others. */
enum { CLASS_FIRST, CLASS_REST, CLASSES };
extern const char *const profile_classes[CLASSES]; /* "first", "rest" */
/* "attn", "o", "mlp", "down", by enum fwd_input */
extern const char *const profile_inputs[FWD_INPUTS];

/* ---- a profile that was written, for others ---- */

struct profile {
    char *dir;
    size_t L;
    uint64_t tokens[CLASSES];
    int gradients; /* it has them */
    /* private */
    size_t rows, parts;
    json_t *json;            /* profile.json */
    struct io_map map[2];    /* of sums and Hessians */
    struct st sums, hessian; /* hessian.nt = 0: none */
};
/* Reads all of it, to compare hashes.  -1 and *e (EX_INPUT: damaged, or not of
 * m by its widths and model_hash; m NULL: of any); nothing is to be closed
 * then. */
int profile_open(struct profile *p, const char *dir, const struct model *m,
    struct err *e);
void profile_close(struct profile *p);
/* Channels of an input; 0: the block has none such. */
size_t profile_width(const struct profile *p, size_t block,
    enum fwd_input input);
/* out [n] = sum over tokens of that class of x^2. */
void profile_sum_sq(const struct profile *p, size_t block, enum fwd_input input,
    size_t kind, double *out);
/* out [n] = sum over rows of |gradient times weight| over the weights that read
 * a channel; -1: the profile was made without --gradient. */
int profile_gradient(const struct profile *p, size_t block,
    enum fwd_input input, double *out);
/* Sum over all tokens of x x^T, [n,n], as it lies in the file; NULL and *e
 * (EX_USAGE) when the profile was made without --hessian. */
const float *profile_hessian(const struct profile *p, size_t block,
    enum fwd_input input, struct err *e);

/* ---- profile_sums.c ---- */

/* Sums of |x|, x, x^2, x^3, x^4. */
enum { SUM_ABS, SUM_1, SUM_2, SUM_3, SUM_4, SUMS };

/*
 * Counts of |x| in bins: SKETCH_STEPS of equal width in each octave (the high
 * bits of the float), from 2^SKETCH_LOW to 2^SKETCH_HIGH; what is below is
 * counted as 0, what is above in the last.  So a quantile is known to a
 * relative 1 / (2 SKETCH_STEPS + 1), and counts of parts add up exactly.
 */
enum {
    SKETCH_STEPS = 8,
    SKETCH_LOW = -24,
    SKETCH_HIGH = 24,
    SKETCH_BINS = (SKETCH_HIGH - SKETCH_LOW) * SKETCH_STEPS
};

/* Of one input of a block; n = 0: the block has none. */
struct input_sums {
    size_t n;
    double *sum;       /* [CLASSES,SUMS,n] */
    float *max;        /* [CLASSES,n] of |x| */
    size_t from, bins; /* the bins from..from+bins-1 are kept */
    uint32_t *count;   /* [CLASSES,n,1+bins]; first: below 2^SKETCH_LOW */
    double *grad;      /* [n], or NULL: see profile_grad.c */
};
/* All bins, zero. */
void sums_init(struct input_sums *s, size_t n);
void sums_release(struct input_sums *s);
size_t sums_bytes(size_t n, size_t bins);
/* Add what fwd_tap shows; bits do not depend on the pool. */
void sums_tap(struct input_sums *s, struct pool *pool,
    const struct fwd_tapped *t);
/* Drop bins at both ends that are empty in all channels and classes. */
void sums_trim(struct input_sums *s);
/* s += t, of the same n. */
void sums_add(struct input_sums *s, const struct input_sums *t);
/* The farthest that an element on the diagonal of h [n,n], a sum over all
 * tokens, is from the sum of squares, relative to it. */
double hess_off(const float *h, const struct input_sums *s);
/* What is accepted of that: fp32 sums; sums of numbers rounded to bfloat16. */
#define PROFILE_OFF_F32 1e-5
#define PROFILE_OFF_BF16 (1.0 / 128)
int sums_finite(const struct input_sums *s);
/* The value below or at which the share q of a class's tokens[class] |x| of
 * channel c lie. */
double sums_quantile(const struct input_sums *s, size_t kind, size_t c,
    uint64_t tokens, double q);
/* Append the lines of channels.tsv, without its head. */
void sums_tsv(const struct input_sums *s, size_t block, enum fwd_input input,
    const uint64_t *tokens, struct buf *b);
extern const char sums_tsv_head[];

/* ---- the whole ---- */

/* Sums over tokens, of a block: 1 - cos of its input and output, of what
 * attention alone turns, of what the MLP alone turns; |input|, |output|. */
enum { TURN_BLOCK, TURN_ATTN, TURN_MLP, NORM_IN, NORM_OUT, TURNS };
struct block_sums {
    struct input_sums in[FWD_INPUTS];
    double turn[CLASSES][TURNS];
};
struct profile_sums {
    size_t L;
    uint64_t rows, tokens[CLASSES];
    double hess_off; /* the largest */
    struct block_sums *b;
};
void profile_sums_init(struct profile_sums *s, size_t L);
void profile_sums_release(struct profile_sums *s);

/* Floats of all Hessians of a block, widths n [FWD_INPUTS]. */
size_t hess_floats(const size_t *n);

/* ---- hess_out.c ---- */

/* Blocks' Hessians on their way to a file: while one is written by a thread of
 * its own the next can be filled. */
struct hess_out;
/* width [L,FWD_INPUTS]; slots: 1 or more blocks in memory.  *e: NULL. */
struct hess_out *hess_out_new(const char *path, const size_t *width, size_t L,
    size_t slots, struct err *e);
/* Room for the next block's Hessians, in order of input, zero.  NULL and *e:
 * what was written before has failed. */
float *hess_out_take(struct hess_out *o, struct err *e);
/* It is filled. */
void hess_out_give(struct hess_out *o);
/* After the last: the file is whole.  Frees o, whatever happened. */
int hess_out_end(struct hess_out *o, struct err *e);

/* ---- profile_walk.c ---- */

struct calib;
struct walk_opt {
    int hessian;
    size_t limit;     /* bytes */
    double tolerance; /* of hess_off */
};
/* Fill *s; Hessians, if asked for, go to folder `dir`.  Dies. */
void profile_walk(struct profile_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool, const struct walk_opt *o,
    const char *dir);

/* ---- profile_grad.c ---- */

/* Memory that it takes beside the model. */
size_t gradients_bytes(const struct model *m, const struct calib *c,
    struct pool *pool);
/* Fill in grad, which was NULL, of all inputs.  Dies. */
void gradients_walk(struct profile_sums *s, const struct model *m,
    const struct calib *c, struct pool *pool);

/* ---- profile_files.c ---- */

/* What profile.json says beside the sums. */
struct profile_about {
    const char *model, *hash, *compute; /* hash: of model_hash */
    const char *tokenizer;              /* hash; NULL: none */
    size_t parts;                       /* profiles that were merged; 1 */
    int hessian;
};
/* All files but the Hessians, which are there already, into folder dir. */
int profile_write(const struct profile_sums *s, const struct profile_about *a,
    const char *dir, struct err *e);
/* The sum of profiles p[n], n > 0, into folder dir.  -1 and *e (EX_INPUT): they
 * are damaged, or not of the same model and compute type. */
int profile_merge(const struct profile *p, size_t n, const char *dir,
    struct err *e);

#endif
