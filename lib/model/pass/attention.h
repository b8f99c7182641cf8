/* Attention as part of a block: what latent attention and generation use of
 * it.  attention.c has the forward direction, attention_back.c the backward
 * one.  Private to lib/model. */
#ifndef MODEL_ATTENTION_H
#define MODEL_ATTENTION_H

#include "model/pass/run.h"

/* Work space, f->room[ROOM_HEADS]: what the rows of a batch see. */
struct heads_room {
    float *cs, *cs_local; /* [T,rotary] angles; cs_local may be cs */
    float *cs_piece; /* [B,T,rotary] angles of each token in blocks without a
                      * window; NULL: no piece is so long that its angles differ
                      * from cs */
    uint32_t *first; /* [B,T] as in struct rows, cut to the window */
    uint32_t *cut_stem, *cut_nstem; /* [B,T] cut to the window */
};
/* Gradients, g->room[ROOM_HEADS]. */
struct heads_grads {
    float *dk, *dv;    /* [B,H,Tp,D] each query head's term */
    float *dheads;     /* [B,Tp,(H+KV)D] of the outputs of heads' norms; NULL:
                        * no such norms */
    float *rstd_heads; /* [B,T,H+KV] 1/rms in heads' norms, or NULL */
    float *dsink;      /* [B,Tp,H] each query's term of the gradient of the
                        * sinks; NULL: no sinks */
};
/* Functions of struct part, which latent attention has too. */
void heads_widths(const struct config *c, const struct block_shape *b,
    struct widths *w);
void heads_lay(struct fwd *f, size_t rows, int parts, struct arena *a);
void heads_lay_back(struct grads *g, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a);

/* Of the engine of batches (struct engine). */
void batch_heads(struct run *u);
const float *batch_angles(const struct run *u, const struct run_row *r,
    size_t *position);
/* Set u->see of a block with attention. */
void batch_sight(struct run *u);
/* Position of a token (not padding) from the start of its stem, or of its piece
 * if it has no stem. */
size_t position(const struct fwd *f, const struct rows *r, size_t b, size_t t);

/* Turn q and k of a row [q | k | v] by its angles, and scale q as its position
 * asks (angles_query).  dir -1: qkv has gradients, which are turned back and
 * scaled. */
void turn_heads(const struct run *u, const struct run_row *r, float *qkv,
    int dir);

/* kern.rope turns numbers i and i + n/2 together.  apart_pairs brings x [n],
 * whose pairs are 2i and 2i + 1, into that order: y[i] = x[2i], y[i + n/2] =
 * x[2i + 1]; join_pairs is the inverse.  x and y do not overlap. */
void apart_pairs(const float *x, float *y, size_t n);
void join_pairs(const float *y, float *x, size_t n);

/* y [n] = x sigmoid(gate), for gated outputs of heads (Qwen 3.5); y may be
 * x. */
void att_gate(float *y, const float *x, const float *gate, size_t n);
/* in->out = the product of W_O with the outputs of heads. */
void heads_output(struct run *u, const struct branch *in, const float *heads);

/* Run the heads backward: from g->datt to g->dqkv, the gradients of the rows of
 * a.qkv before they were turned. */
void heads_backward(struct run *u, const struct branch *in);
void attention_backward(struct run *u, const struct branch *in);

/* The scale of the scores of attention, as in struct attn. */
float attn_scale(const struct config *c);
/* Attention of sequence b. */
struct attn attention_of(const struct run *u, size_t b);

#endif
