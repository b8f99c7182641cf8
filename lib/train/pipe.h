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
/* t was made with the stages of the ranks of g; both outlive it. */
struct pipe *pipe_new(const struct dist_group *g, struct tmodel *t);
void pipe_free(struct pipe *x);
/* Memory of a group of weights that rank 0 has not, while it writes them. */
size_t pipe_bytes(const struct pipe *x);
/* While t->m.fetch is this, rank 0 may write t's weights: for
 * model_write_weights there, and fetch_each elsewhere, but no passes. */
const struct fetch *pipe_fetch(const struct pipe *x);

/* Have `pass` called for each pass of this rank's stages, with bwd_stage at it
 * and bwd_input, or bwd_dx, there; last: of the last stage.  A piece is `some`
 * of the rows, the last one the rest, and of so many numbers a row. */
void pipe_run(struct pipe *x, struct bwd *b, size_t rows, size_t some,
    size_t numbers, void (*pass)(void *ctx, size_t piece, int back, int last),
    void *ctx);
/* After the last pipe_run of a step, and bwd_flush: the gradient of a tied
 * embedding is that of both sides, at its owner alone. */
void pipe_finish(struct pipe *x);

#endif
