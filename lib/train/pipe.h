/*
 * Running rows, cut into pieces, through ranks that each have stages of a model
 * (model/stages.h): outputs are sent to the rank of the next stage, their
 * gradients back.  Each rank adds pieces in order, so that gradients are equal
 * to the bit to those of one process with all stages.
 *
 * Every rank calls the same functions in the same order, with the same rows.
 */
#ifndef TRAIN_PIPE_H
#define TRAIN_PIPE_H

#include "dist/dist.h"
#include "model/backward.h"
#include "model/fetch.h"

struct pipe;
/* t has the stages of a rank of g; both outlive the pipe. */
struct pipe *pipe_new(const struct dist_group *g, struct tmodel *t);
void pipe_free(struct pipe *x);
/* Bytes of the buffer for a group that rank 0 fetches to write it to a file. */
size_t pipe_bytes(const struct pipe *x);
/* Value of t->m.fetch while rank 0 writes t's weights (model_write_weights) and
 * the other ranks call fetch_each.  No passes are made with it. */
const struct fetch *pipe_fetch(const struct pipe *x);

/* Call `pass` for each pass of this rank's stages, after bwd_stage for it and
 * after its bwd_input (back: bwd_dx) has been received; last: the stage is the
 * last.  A piece has `some` of the `rows` rows, the last piece the rest; a
 * row's output has `numbers` numbers. */
void pipe_run(struct pipe *x, struct bwd *b, size_t rows, size_t some,
    size_t numbers, void (*pass)(void *ctx, size_t piece, int back, int last),
    void *ctx);
/* Add both stages' gradients of a tied embedding at its owner: call it after
 * the last pipe_run of a step, and bwd_flush. */
void pipe_finish(struct pipe *x);

#endif
