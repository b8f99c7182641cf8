/*
 * The judge scores choices on the calibration data, against the whole model
 * (before any cut).  It caches the inputs of all blocks for one choice.
 * Another choice is computed only from the first block in which it differs from
 * the cached choice; see prune-search(1).
 */
#ifndef PRUNE_JUDGE_H
#define PRUNE_JUDGE_H

#include "calib.h"
#include "choice.h"
#include "model/pass/forward.h"

#include <stddef.h>

/* Sums over the scored predictions of a row, nats. */
struct row_score {
    double nll, kl; /* KL(uncut model || the choice), temperature 1 */
};

/* Measurements of a block on the calibration data. */
struct measured {
    /* 1 - cos(input, output), mean over tokens, of the block, of its attention
     * alone, of its MLP alone; ShortGPT (arXiv:2403.03853, eq. 1) */
    double influence, attn, mlp;
    /* energy that channels of o's input, and of down's input, add to the
     * residual stream: the sum over tokens of the squared activation, weighted
     * by row, times the squared norm of the channel's column */
    double *o;    /* [H*D] of o's input, with the block's own H */
    double *chan; /* [mlp] of down's input */
    double before_o, before_mlp; /* sums of squares of the residual stream
                                  * before o, and before the MLP */
    int on_o, on_mlp;            /* attention, and MLP, are being measured */
};

struct judge {
    const struct model *m; /* the whole model */
    const struct calib *c;
    struct pool *pool;
    struct fwd *f, *base; /* base: applies the whole model's head */
    size_t chunk;         /* number of rows computed at a time */
    float *x, *h;         /* [chunk,T,d] work space */
    float *hp;            /* [c->n,d] final states of the whole model */
    float *zp;            /* [c->n,V] logits of the whole model; NULL without
                           * judge_keep_logits */
    size_t *from;         /* [R+1] index of each row's first prediction */
    struct choice now;    /* the choice whose block inputs are cached */
    float **own;          /* [L+1] buffers [R,T,d] that `in` points to */
    float **in;           /* [L+1] input of each block, then the output of the
                           * last block; a dropped block shares its input with
                           * the next one */
    struct measured *at;  /* [L] measurements */
};
void judge_init(struct judge *j, const struct model *m, const struct calib *c,
    struct pool *pool);
void judge_release(struct judge *j);
/* Bytes of memory beside the model, without the logits of judge_keep_logits. */
size_t judge_bytes(const struct model *m, const struct calib *c);
/* Cache the whole model's logits, 4 bytes times the vocabulary for each
 * prediction, so that they are not computed for each score.  Call before
 * judge_set. */
void judge_keep_logits(struct judge *j);
/* Cache the inputs of all blocks for choice c, which is copied.  Computes the
 * blocks from the first one in which c differs from the choice cached so far.
 * measuring: also measure these blocks, and their attentions and MLPs that c
 * keeps whole.  The first call must have the whole model. */
void judge_set(struct judge *j, const struct choice *c, int measuring);
/* Multiply each sum of squares in sum [w->cols] by the squared norm of w's
 * column. */
void judge_weigh(const struct weight *w, double *sum);
/* Score rows r0..r1-1 of choice c into out [r1-r0]. */
void judge_rows(struct judge *j, const struct choice *c, size_t r0, size_t r1,
    struct row_score *out);
/* Score all rows of another model, such as a cut one, into out [R]. */
void judge_model(struct judge *j, const struct model *m, struct row_score *out);

#endif
