/*
 * The judge scores a choice of what is kept on the calibration data.  It keeps
 * the inputs of all blocks for one choice, so that another is computed from the
 * first block in which the two differ; see prune-search(1).
 */
#ifndef PRUNE_JUDGE_H
#define PRUNE_JUDGE_H

#include "calib.h"
#include "choice.h"
#include "model/forward.h"

#include <stddef.h>

/* Sums over a row's scored predictions, nats. */
struct row_score {
    double nll, kl; /* KL(whole model || the choice), temperature 1 */
};

/* Measurements of one block on the calibration data. */
struct measured {
    /* 1 - cos(input, output), mean over tokens, of the block and of its
     * attention and MLP alone: ShortGPT (arXiv:2403.03853, eq. 1) */
    double influence, attn, mlp;
    /* energies that the inputs of o and down add to the residual stream: sums
     * over tokens, each by its row's weight, of the squared activation times
     * the squared norm of the channel's column */
    double *o, *chan;            /* [H*D of the block] [mlp] */
    double before_o, before_mlp; /* sums of squares of the stream there */
    int on_o, on_mlp;            /* this part is being measured */
};

struct judge {
    const struct model *m;
    const struct calib *c;
    struct pool *pool;
    struct fwd *f, *base; /* base: for the head of the whole model */
    size_t chunk;         /* rows at a time */
    float *x, *h;         /* [chunk,T,d] work space */
    float *hp;            /* [c->n,d] the whole model's final states */
    float *zp;            /* [c->n,V] the whole model's logits, or NULL */
    size_t *from;         /* [R+1] the first prediction of each row */
    struct choice now;    /* the choice whose inputs are kept */
    float **own;          /* [L+1] buffers [R,T,d] */
    float **in;          /* [L+1] input of each block, and the output; a dropped
                           * block and the next one share their input */
    struct measured *at; /* [L] */
};
void judge_init(struct judge *j, const struct model *m, const struct calib *c,
    struct pool *pool);
void judge_release(struct judge *j);
/* Memory beside the model, without the logits that judge_keep_logits keeps. */
size_t judge_bytes(const struct model *m, const struct calib *c);
/* Keep the whole model's logits, 4 bytes times vocabulary a prediction, and do
 * not compute them again for each score.  Call it before judge_set. */
void judge_keep_logits(struct judge *j);
/* Keep the inputs of all blocks for choice c, which is copied; measuring:
 * measure each part that c keeps whole, in the blocks that are computed.  The
 * first call takes the whole model. */
void judge_set(struct judge *j, const struct choice *c, int measuring);
/* Multiply sums of squares [w->cols] by the squared norms of w's columns. */
void judge_weigh(const struct weight *w, double *sum);
/* Score rows r0..r1-1 of choice c into out [r1-r0]. */
void judge_rows(struct judge *j, const struct choice *c, size_t r0, size_t r1,
    struct row_score *out);
/* Score all rows of another model, such as a cut one, into out [R]. */
void judge_model(struct judge *j, const struct model *m, struct row_score *out);

#endif
