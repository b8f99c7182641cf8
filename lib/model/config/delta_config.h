/* Configurations, names and order of heads of blocks with the gated delta
 * rule (delta.h). */
#ifndef MODEL_DELTA_CONFIG_H
#define MODEL_DELTA_CONFIG_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config/config.h"

struct config_file; /* config_fields.h */

/* Has a block of c the gated delta rule? */
int config_has_delta(const struct config *c);
/* Numbers that the convolution of a `linear` block mixes: C. */
size_t conv_channels(const struct config *c);

/* Check that the rule's sizes go together; nothing if c has no rule. */
int delta_check(const struct config *c, struct err *e);
/* After the table's numbers are read from a GGUF: set dv, the blocks that have
 * the rule, and L without the layers that predict further tokens.  -1 and *e: a
 * size is wrong. */
int delta_from_gguf(struct config_file *f, const struct gguf *g, struct err *e);
/* Put the lists of a GGUF. */
void delta_to_gguf(const struct config *c, struct gguf_out *o);
/* Refuse a configuration that a GGUF cannot describe. */
int delta_check_gguf(const struct config *c, struct err *e);

/*
 * A GGUF has value heads in another order (struct delta_shape) than Hugging
 * Face.
 *   delta_row: the row of tensor t in the order of c->delta that is row k of
 *   the other order.
 *   delta_order: change n rows x [n,cols] of tensor t from the order of
 *   c->delta to the other one, along the columns: vectors and W_DELTA_OUT.
 *   delta_untile: change all of tensor t, whose numbers are x, from a GGUF's
 *   order, which c has, to that of Hugging Face; rows and cols: its shape.
 */
size_t delta_row(const struct config *c, int t, size_t k);
void delta_order(const struct config *c, int t, float *x, size_t n,
    size_t cols);
void delta_untile(const struct config *c, int t, float *x, size_t rows,
    size_t cols);

/* Does a GGUF of c have value heads in another order than Hugging Face? */
int delta_is_tiled(const struct config *c);

/* The row of W_DELTA_MIX, W_DELTA_Z, W_DELTA_BETA or W_DELTA_RATE in the tensor
 * of a Qwen3-Next that holds it.  Such a tensor has for each key head
 *   in_proj_qkvz  its query, its key, its value heads, their gates
 *   in_proj_ba    beta of its value heads, then their rates */
size_t delta_fused_row(const struct config *c, int t, size_t r);

#endif
