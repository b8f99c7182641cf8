/*
 * Weights that are in memory only while they are read, such as weights that
 * ranks have parts of and gather.  A reader of weights asks for a group at a
 * time: 0..L-1 are the blocks, L the embedding, L+2 the head (L if it is tied);
 * the final norm, L+1, is always there.
 *
 * Functions that walk over a model ask by themselves: fwd_embed, fwd_block,
 * logits and scores, bwd_forward, bwd_backward, model_write_weights.  Any other
 * reader, such as the losses of training for the head, calls the functions
 * below.  Generation (kv_new) needs all weights at once.
 *
 * One group is read at a time; while it is, the one after it may be on its way.
 * Only the thread that runs a pass calls these, in an order that depends on the
 * model's shape and the calls of the pass but not on data: so `now` may be a
 * collective of ranks.
 */
#ifndef MODEL_FETCH_H
#define MODEL_FETCH_H

#include "model/model.h"

/* Set m->fetch before fwd_new or bwd_new; it must outlive them.  Until a
 * group's first `now` its weights' data is an aligned address, not NULL, with
 * undefined content. */
struct fetch {
    /* Bring the group's weights into memory and point the data of its tensors
     * to them, maybe elsewhere than the last time. */
    void (*now)(void *ctx, size_t group);
    /* A hint: this group will be the next, so slow work may begin. */
    void (*next)(void *ctx, size_t group);
    /* The group's weights will not be read until `now` is called again. */
    void (*done)(void *ctx, size_t group);
    void *ctx;
};

/* Call m->fetch.  No effect for the final norm, or if m->fetch is NULL (all
 * weights are always in memory). */
void fetch_now(const struct model *m, size_t group);
void fetch_next(const struct model *m, size_t group);
void fetch_done(const struct model *m, size_t group);
/* The head's group. */
size_t fetch_head(const struct model *m);
/* Fetch each group once, in the order of model_write_weights: for ranks that
 * write no weights but must take part in fetching them. */
void fetch_each(const struct model *m);

#endif
