/*
 * Pipeline parallelism.  A model's blocks are divided into stages, and stages
 * are dealt to ranks.  A rank does its passes in a fixed order: forward and
 * backward passes alternate, and the rank's stages take turns (one forward, one
 * backward, interleaved: Narayanan et al., arXiv:2104.04473).
 *
 * With n ranks of `per` stages each, stage k is rank k % n's, so rows go round
 * the ranks `per` times.  No rank has more blocks than the last.  The first
 * stage has the embedding, the last one the final norm and the head.  A tied
 * embedding is also in the last stage; rank 0 updates it.  The norm is also in
 * the first stage; the last stage's rank updates it, rank 0 writes it to files.
 */
#ifndef MODEL_STAGES_H
#define MODEL_STAGES_H

#include <stddef.h>

struct pipeline {
    size_t rank, n; /* n <= 1: this process has all of the model */
    size_t per;     /* stages of a rank */
};

/* stages_any: is the model in stages?  stages_last: does this process have the
 * last stage, or all of the model? */
int stages_any(const struct pipeline *s);
int stages_last(const struct pipeline *s);
/* First block of stage k of a model of L blocks; L for k = n * per. */
size_t stages_cut(const struct pipeline *s, size_t L, size_t k);
/* The rank that updates a group (numbered as in tmodel.h). */
size_t stages_owner(const struct pipeline *s, size_t L, size_t group);

/* A rank's pass through one of its stages, for one piece of a message's rows.
 * back: 0 forward, 1 backward. */
struct stage_op {
    size_t stage, piece;
    int back;
};
/* The i-th pass of a rank is stages_op(s, pieces, i), for i < stages_ops(s,
 * pieces).  If a rank has several stages, passes are counted for `pieces`
 * rounded up to a multiple of n: skip each pass whose piece is >= `pieces`.
 * At the model's last stage a piece's backward pass comes right after its
 * forward pass. */
size_t stages_ops(const struct pipeline *s, size_t pieces);
struct stage_op stages_op(const struct pipeline *s, size_t pieces, size_t i);
/* The number of forward passes that a rank does, over all its stages, before
 * forward and backward passes alternate; if there are enough pieces. */
size_t stages_lead(const struct pipeline *s);
/* The most pieces (consecutive ones) that have been forward but not yet
 * backward through this stage of the rank, at any time. */
size_t stages_ahead(const struct pipeline *s, size_t stage);

#endif
