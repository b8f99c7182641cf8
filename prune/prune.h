/* The model on calibration data: what it is judged on, and walks over choices
 * of what is kept that restart from cached inputs; see prune-search(1). */
#ifndef PRUNE_PRUNE_H
#define PRUNE_PRUNE_H

#include "base/pool.h"
#include "choice.h"
#include "model/forward.h"

#include <stddef.h>
#include <stdint.h>

/* ---- calib.c: what the model is judged on ---- */

struct calib {
    size_t R, T;
    uint32_t *ids, *first; /* [R,T] as in struct rows */
    size_t n;              /* scored predictions, in order of place */
    size_t *at;            /* [n] place in [R,T] */
    uint32_t *target;      /* [n] */
    size_t ntok;           /* without padding */
    char *tokenizer;       /* its hash; malloc'd, NULL: not told */
    /* [R] of each prediction and of each token of a row; the mean of either
     * over all of them is 1 */
    double *weight, *token_weight;
};
/* Read up to `rows` rows of batches (0: all), of weight 1; dies on damage, and
 * on ids of another tokenizer than that at path `tokenizer`, if there is one.
 */
void calib_read(struct calib *c, const char *addr, size_t rows,
    const struct model *m, const char *tokenizer);
/*
 * The same of n sets, each "NAME=WEIGHT:ADDRESS": a set's mean counts by its
 * weight, however long it is.  Their rows are mixed evenly, so that the first
 * quarter of all is about the first quarter of each.  Dies on what is no set.
 */
void calib_sets(struct calib *c, char *const *sets, size_t n, size_t rows,
    const struct model *m, const char *tokenizer);
void calib_release(struct calib *c);
/* Scored predictions among the first `rows` rows. */
size_t calib_scored(const struct calib *c, size_t rows);
/* Rows that a pass takes at a time: about 4096 tokens; and those from r0 on, n
 * at most. */
size_t calib_chunk(const struct calib *c);
struct rows calib_rows(const struct calib *c, size_t r0, size_t n);

/* ---- judge.c: the model on it ---- */

/* Sums over a row's scored predictions, nats. */
struct row_score {
    double nll, kl; /* KL(whole model || this), T = 1 */
};

/* What a block does on the calibration data. */
struct measured {
    /* 1 - cos(in, out), mean over tokens, of the block and of the parts of it:
     * ShortGPT (arXiv:2403.03853, eq. 1) */
    double influence, attn, mlp;
    /* energies: what each channel of o's and of down's input adds to the
     * residual stream, sum over tokens, by the weight of their rows, of act^2
     * times the squared norm of its column; a KV group's is that of its heads'
     * channels */
    double *o, *chan;            /* [H*D of the block] [mlp] */
    double before_o, before_mlp; /* sums of squares of the stream there */
    int on_o, on_mlp;            /* being measured */
};

struct judge {
    const struct model *m;
    const struct calib *c;
    struct pool *pool;
    struct fwd *f, *base; /* base: for the head of the whole model */
    size_t chunk;         /* rows at a time */
    float *x, *h;         /* of one chunk */
    float *hp;            /* [c->n,d] the whole model's final states */
    float *zp;            /* [c->n,V] its logits, or NULL */
    size_t *from;         /* [R+1] the first prediction of each row */
    struct choice now;    /* what the cache is of */
    float **own;          /* [L+1] states [R,T,d] */
    float **in;           /* [L+1] of them, by block: its input; last: output */
    struct measured *at;  /* [L] */
    int from_start;       /* do not restart from the cache */
};
void judge_init(struct judge *j, const struct model *m, const struct calib *c,
    struct pool *pool);
void judge_release(struct judge *j);
size_t judge_bytes(const struct model *m, const struct calib *c);
/* Keep the whole model's logits, 4 bytes times vocabulary a prediction, rather
 * than make them again with each score; before the first judge_set. */
void judge_keep_logits(struct judge *j);
/* From here on in a forked process, with a pool of so many threads. */
void judge_forked(struct judge *j, size_t threads);
/* Let the cache be that of c (copied), as far as it was of another one; if
 * `measuring`, measure what c keeps whole of the blocks that are walked.  The
 * first call is for the whole model. */
void judge_set(struct judge *j, const struct choice *c, int measuring);
/* Multiply sums of squares [w->cols] by the squared norms of w's columns. */
void judge_weigh(const struct weight *w, double *sum);
/* Score rows r0..r1-1 with what c keeps into out [r1-r0]; walks from the first
 * block on that is not as in j->now. */
void judge_rows(struct judge *j, const struct choice *c, size_t r0, size_t r1,
    struct row_score *out);
/* The same of another model (a cut one), from its embedding on. */
void judge_model(struct judge *j, const struct model *m, struct row_score *out);

#endif
