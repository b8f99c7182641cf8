/* Runs rows through ranks that each have stages of a model
 * (model/pass/stages.h).  Rows are cut into pieces; a piece's output is sent to
 * the rank of the next stage, and its gradient comes back.  Each rank adds
 * pieces in order, so gradients have the same bits as in one process with all
 * stages.  Every rank calls the same functions in the same order, with the same
 * rows. */
#ifndef TRAIN_PIPE_H
#define TRAIN_PIPE_H

#include "dist/dist.h"
#include "model/pass/backward.h"
#include "model/files/fetch.h"

struct pipe;
/* t has this rank's stages; g and t must outlive the pipe. */
struct pipe *pipe_new(const struct dist_group *g, struct tmodel *t);
void pipe_free(struct pipe *x);
/* Bytes of the buffer for a group that rank 0 fetches to write it to a file. */
size_t pipe_bytes(const struct pipe *x);
/* The fetch to set as t->m.fetch while rank 0 writes t's weights
 * (weights_write) and the other ranks call fetch_each.  Not for passes. */
const struct fetch *pipe_fetch(const struct pipe *x);

/* Cut `rows` rows into pieces of `some` rows (the last piece may have fewer),
 * and call `pass` for each forward (back 0) and backward (back 1) pass of a
 * piece through a stage of this rank; last is 1 in the model's last stage.
 * Before each call pipe_run selects stage and piece with bwd_stage, and
 * receives bwd_input, or in a backward pass bwd_dx, from the neighbouring
 * stage, if there is one.  After the call it sends the result on.  numbers: how
 * many numbers each row has in what stages send. */
void pipe_run(struct pipe *x, struct bwd *b, size_t rows, size_t some,
    size_t numbers, void (*pass)(void *ctx, size_t piece, int back, int last),
    void *ctx);
/* If the embedding is tied, add its gradient in the last stage to its gradient
 * on rank 0.  Call it after the last pipe_run of a step and after bwd_flush. */
void pipe_finish(struct pipe *x);

#endif
