/*
 * Pipeline parallelism: a model's blocks are divided into stages, stages are
 * dealt to ranks, and a rank's passes have an order: one forward, one backward,
 * the stages of a rank interleaved (Narayanan et al., arXiv:2104.04473).
 *
 * Of n ranks with `per` stages each, rank k % n has stage k, so that rows go
 * round the ranks `per` times; no rank has more blocks than the last.  The
 * first stage has the embedding, the last stage the final norm and the head.  A
 * tied embedding is in both stages, and rank 0 updates it.  The norm is in both
 * too: the last stage's rank updates it, and rank 0 writes it to files.
 */
#ifndef MODEL_STAGES_H
#define MODEL_STAGES_H

#include <stddef.h>

struct pipeline {
    size_t rank, n; /* n <= 1: this process has all of the model */
    size_t per;     /* stages of a rank */
};

/* Is the model in stages?  Does this process have the last stage, or all of
 * it? */
int stages_any(const struct pipeline *s);
int stages_last(const struct pipeline *s);
/* First block of stage k <= n * per of a model of L blocks; L for k = n *
 * per. */
size_t stages_cut(const struct pipeline *s, size_t L, size_t k);
/* The rank that updates a group (tmodel.h): a block, embedding, norm or
 * head. */
size_t stages_owner(const struct pipeline *s, size_t L, size_t group);

/* A rank's forward or backward pass of one of its stages over one of the pieces
 * that a message's rows are cut into. */
struct stage_op {
    size_t stage, piece;
    int back;
};
/* Pass i < stages_ops(s, pieces) of this rank is stages_op(s, pieces, i).  If a
 * rank has several stages, passes are counted as if pieces were rounded up to a
 * multiple of n; skip those whose piece is not below `pieces`.  At the last
 * stage a piece's backward pass comes right after its forward pass. */
size_t stages_ops(const struct pipeline *s, size_t pieces);
struct stage_op stages_op(const struct pipeline *s, size_t pieces, size_t i);
/* The number of forward passes, over all its stages, that a rank does before it
 * alternates forward and backward passes; given enough pieces. */
size_t stages_lead(const struct pipeline *s);
/* The most pieces, consecutive ones, that are between their forward and
 * backward pass at a stage of this rank. */
size_t stages_ahead(const struct pipeline *s, size_t stage);

#endif
