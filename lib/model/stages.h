/*
 * Blocks of a model dealt to ranks that work one after another (pipeline
 * parallel), and in which order a rank works: one forward, one backward, with
 * several stages a rank interleaved (Narayanan et al., arXiv:2104.04473).
 *
 * Of n ranks with `per` stages each, stage k is at rank k % n, so that rows go
 * round the ranks `per` times; no rank has more blocks than the last.  The
 * first stage has the embedding, the last one the final norm and the head.  A
 * tied embedding is with both, and updated by the first rank; so is the norm,
 * which rank 0 writes and the last one's rank updates.
 */
#ifndef MODEL_STAGES_H
#define MODEL_STAGES_H

#include <stddef.h>

struct pipeline {
    size_t rank, n; /* n <= 1: this process has all of the model */
    size_t per;
};

/* Are there any?  Has this process the last one, or all? */
int stages_any(const struct pipeline *s);
int stages_last(const struct pipeline *s);
/* First block of stage k of a model of L blocks, k <= n * per: L of the one
 * after the last. */
size_t stages_cut(const struct pipeline *s, size_t L, size_t k);
/* The rank that updates a group (of backward.h): a block, or one after them. */
size_t stages_owner(const struct pipeline *s, size_t L, size_t group);

/* A rank's forward or backward pass of one of its stages over one of the pieces
 * that a message's rows are cut into. */
struct stage_op {
    size_t stage, piece;
    int back;
};
/* A rank's passes for so many pieces are stages_op(s, pieces, i) with i below
 * stages_ops(s, pieces).  Passes of pieces beyond them are left out: there are
 * as many as if pieces were a multiple of n, where a rank has several stages.
 * At the last stage a piece's backward pass is next after its forward pass. */
size_t stages_ops(const struct pipeline *s, size_t pieces);
struct stage_op stages_op(const struct pipeline *s, size_t pieces, size_t i);
/* By how many forward passes, of all its stages, a rank is ahead of its
 * backward passes before each further one, where there are pieces enough. */
size_t stages_lead(const struct pipeline *s);
/* How many pieces, one after another, are at most between the forward and the
 * backward pass of a stage of this rank. */
size_t stages_ahead(const struct pipeline *s, size_t stage);

#endif
