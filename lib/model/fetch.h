/*
 * Weights that are in memory only while they are read, such as those that ranks
 * have parts of and gather.  Whoever reads weights says so, a group at a time:
 * 0..L-1 are the blocks, L the embedding, L+2 the head (L if it is tied); the
 * final norm, L+1, is always there.
 *
 * What walks over a model does that by itself: fwd_embed, fwd_block, logits and
 * scores, bwd_forward, bwd_backward, model_write_weights.  A reader of weights
 * beside them, as the losses of training are of the head, calls the functions
 * below.  Generation (kv_new) needs all weights at once.
 *
 * One group is read at a time; while it is, the one after it may be on its way.
 * Only the thread that runs a pass calls these, in an order that the model's
 * shape and the calls of the pass decide, not what is in it: so `now` may be a
 * collective of ranks.
 */
#ifndef MODEL_FETCH_H
#define MODEL_FETCH_H

#include "model/model.h"

/* Set m->fetch, which outlives its use, before fwd_new or bwd_new.  Until a
 * group's first `now` the data of its weights is an address like later ones
 * (aligned, not NULL), of any content. */
struct fetch {
    /* On return the weights of the group are there: the data of its tensors
     * leads to them, perhaps elsewhere than the last time. */
    void (*now)(void *ctx, size_t group);
    /* This group will be the next: what takes time may begin.  A hint. */
    void (*next)(void *ctx, size_t group);
    /* They are not read any more, until `now` is called again. */
    void (*done)(void *ctx, size_t group);
    void *ctx;
};

/* Nothing for the final norm, and where all weights are always there (m->fetch
 * is NULL). */
void fetch_now(const struct model *m, size_t group);
void fetch_next(const struct model *m, size_t group);
void fetch_done(const struct model *m, size_t group);
/* The head's group. */
size_t fetch_head(const struct model *m);
/* Each group once, as model_write_weights does: for ranks that write none of
 * what is fetched together. */
void fetch_each(const struct model *m);

#endif
