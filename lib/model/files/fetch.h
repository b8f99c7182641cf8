/*
 * Weights that are in memory only while they are read, such as weights that
 * ranks have parts of and gather.  Readers ask for one group at a time: 0..L-1
 * are the blocks, L the embedding, L+2 the head (L if it is tied).  The other
 * tensors, such as the final norm, are always there.
 *
 * Functions that walk over a model fetch its groups: fwd_embed, fwd_block,
 * logits and scores, bwd_forward, bwd_backward, weights_write.  Any other
 * reader, such as training's losses for the head, calls the functions below.
 * Generation (kv_new) needs all weights at once.
 *
 * While a group is read, the next one may be on its way.  Only the thread that
 * runs a pass calls `now`, `next` and `done`.  Their order depends on the
 * model's shape and the calls of the pass, not on data, so `now` may be a
 * collective of ranks.
 */
#ifndef MODEL_FETCH_H
#define MODEL_FETCH_H

#include "model/files/model.h"

/* Set m->fetch before fwd_new or bwd_new; it must outlive their work spaces.
 * Until a group's first `now` the data of its weights are an aligned address,
 * not NULL, with undefined content. */
struct fetch {
    /* Bring the group's weights into memory and point the data of its tensors
     * to them; the address may differ from call to call. */
    void (*now)(void *ctx, size_t group);
    /* A hint that this group is the next to be read: slow work may begin. */
    void (*next)(void *ctx, size_t group);
    /* The group's weights will not be read until `now` is called again. */
    void (*done)(void *ctx, size_t group);
    void *ctx;
};

/* Call m->fetch.  For the final norm, or if m->fetch is NULL (all weights stay
 * in memory), nothing is done. */
void fetch_now(const struct model *m, size_t group);
void fetch_next(const struct model *m, size_t group);
void fetch_done(const struct model *m, size_t group);
/* The head's group. */
size_t fetch_head(const struct model *m);
/* Fetch each group once, in the order in which weights_write writes F32.  Ranks
 * that write no weights call it, as fetching needs all ranks. */
void fetch_each(const struct model *m);

#endif
