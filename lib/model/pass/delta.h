/*
 * The gated delta rule of Qwen 3.5: a block keeps a state in place of keys and
 * values.  Yang et al., arXiv:2412.06464; transformers' Qwen3_5GatedDeltaNet.
 *
 * A token's row of products, `raw`, is [C | z | b | a]: C numbers for queries,
 * keys and values (of all heads, in this order), `values` heads of z, and a
 * number b and a number a for each value head.
 *   mix = SiLU(sum over j of taps[conv-1-j] times the C numbers j tokens ago)
 *   q and k of mix are divided by their lengths; q also by sqrt(dk)
 *   decay = exp(-exp(log) softplus(a + dt)), beta = sigmoid(b)
 *   o = the rule of kern/delta.h, on a state that is 0 where a text begins;
 *   value head h uses key head h / (values / keys), if `tiled` h % keys
 *   out = norm(o) SiLU(z), the norm of each head with the weight `norm`
 * delta.c has the forward direction, delta_backward.c the backward one.
 */
#ifndef MODEL_DELTA_H
#define MODEL_DELTA_H

#include "kern/delta.h"
#include "model/pass/run.h"

#define DELTA_EPS 1e-6f /* added to the square of a vector's length */

/* Work space, f->room[ROOM_DELTA], and the weights of the block in use. */
struct delta_room {
    const struct delta_shape *s;
    size_t C;              /* conv_channels */
    const float *ones;     /* [C] all 1 */
    const float *dt, *log; /* [values] */
    const float *norm;     /* [dv] */
    float eps;
    float *mix, *rate; /* [B,Tp,C], [B,Tp,2*values] */
};
struct delta_room *delta_room(const struct fwd *f);

/* delta_raw: numbers in a row of products, C + values * (dv + 2).  delta_state:
 * floats of a value head's state: [dv / DELTA_COLS, rounded up][dk,DELTA_COLS].
 * delta_key: the key head of a value head. */
size_t delta_raw(const struct config *c);
size_t delta_state(const struct delta_shape *s);
size_t delta_key(const struct delta_shape *s, size_t head);

/* Point w to the weights of a block in its vectors vec [W_N]. */
void delta_take(struct delta_room *w, const struct config *c,
    const float *const *vec);

/* Make mix [C] and rate [2,values], decays and betas, of a token from its
 * convolution and its row; mix may be x. */
void delta_token(const struct delta_room *w, const float *x, const float *raw,
    float *mix, float *rate);
/* Run the rule of value head h over n tokens: mix [n,C], rate [n,2,values].
 * state: delta_state floats, changed.  out [n,values*dv]: the columns of head h
 * are set; NULL: outputs are not wanted. */
void delta_head(const struct delta_room *w, size_t h, size_t n,
    const float *mix, const float *rate, float *state, float *out);
/* Return log(1 + exp(x)), for which x itself is taken if x > 20. */
double delta_softplus(double x);
/* y = norm(o) SiLU(z) of a token's value heads. */
void delta_gate(const struct delta_room *w, const float *o, const float *z,
    float *y);

/* Of the engine of batches (struct engine). */
void batch_rule(struct run *u);

/* ---- for delta_backward.c ---- */

/* Run the stages in the list, then compute mix and rate of all rows. */
void delta_mix(struct run *u, const struct branch *in);

/* Functions of part_delta.  States are computed again from kept ones, some
 * tokens at a time; for that each thread has room for about (16 + T / 16)
 * states of DELTA_COLS columns. */
void delta_backward(struct run *u, const struct branch *in);
void delta_lay_back(struct grads *g, const struct fwd *f, size_t rows,
    size_t tokens, struct arena *a);

#endif
