/*
 * Rows through ranks that each have stages of a model (model/stages.h), a piece
 * of them after another: outputs go to the rank of the next stage, gradients at
 * them come back.  Each rank adds the pieces in their order, so that gradients
 * are, to the bit, those of a process that has all stages.
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
/* Bytes of room for a group of weights that rank 0 fetches to write it. */
size_t pipe_bytes(const struct pipe *x);
/* Value of t->m.fetch while rank 0 writes t's weights (model_write_weights) and
 * the other ranks call fetch_each.  No passes are made with it. */
const struct fetch *pipe_fetch(const struct pipe *x);

/* Call `pass` for each pass of this rank's stages, when bwd_stage is set to it
 * and bwd_input, or bwd_dx, has come; last: it is the last stage.  A piece has
 * `some` rows, the last piece the rest; an output has so many numbers a row. */
void pipe_run(struct pipe *x, struct bwd *b, size_t rows, size_t some,
    size_t numbers, void (*pass)(void *ctx, size_t piece, int back, int last),
    void *ctx);
/* Add both gradients of a tied embedding at its owner: after the last pipe_run
 * of a step, and bwd_flush. */
void pipe_finish(struct pipe *x);

#endif
