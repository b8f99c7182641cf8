/*
 * Experts' matrices that a Hugging Face folder stores as one tensor of all
 * experts (gpt-oss), and how rows of a block's tensors map to it.
 *   mlp.experts.gate_up_proj [E,in,2 I]: a column of gate, then one of up, ...
 *   mlp.experts.down_proj [E,I,d]
 *   the same names with _bias: [E,2 I], [E,d]
 * A matrix may be in MXFP4 instead (OCP Microscaling Formats v1.0): bytes
 * NAME_blocks [E,rows,in/32,16], two numbers in each, the low half first, and
 * NAME_scales [E,rows,in/32], whose rows are columns of the tensor above.
 */
#ifndef MODEL_EXPERTS_JOINED_H
#define MODEL_EXPERTS_JOINED_H

#include "format/safetensors.h"
#include "model/config/config.h"
#include "model/files/weights.h"

/* How many of a block's tensors, from t on, are stored in one tensor; 0: t is
 * stored by itself, or in a tensor counted at an earlier t. */
size_t joined_count(const struct config *c, int t);
/* joined_is: is tensor t stored in a tensor of all experts?  joined_name: this
 * stored tensor's name after "model.layers.N.". */
int joined_is(const struct config *c, int t);
const char *joined_name(int t);
/* Set `shape` to the dimensions of the stored tensor that has tensor t.  Each
 * of the E experts has in x out numbers of t (a bias: in is 1).  Returns the
 * number of dimensions. */
int joined_shape(int t, size_t E, size_t in, size_t out, size_t shape[3]);

/* Make w the rows of tensor t in the stored tensor `from`, or in its blocks and
 * scales: [E out,in], or [E,out] for a bias.  Returns the numbers that w
 * points to, which the caller frees; NULL and *e: shape or type is wrong. */
void *joined_split(const struct st_tensor *from, int t, size_t E, size_t in,
    size_t out, struct weight *w, struct err *e);
void *joined_split_mxfp4(const struct st_tensor *blocks,
    const struct st_tensor *scales, int t, size_t E, size_t in, size_t out,
    struct weight *w, struct err *e);
/* The opposite of joined_split: set x [in,ways*out], in fp32, to the numbers of
 * expert k from the `ways` weights w[0], w[1], ...; `ways` is joined_count of
 * t.  room [out,in]: scratch. */
void joined_fill(const struct weight *w, int t, size_t ways, size_t k,
    size_t in, size_t out, float *room, float *x);

#endif
