/* Configurations of models with the gated short convolution (pass/short.c). */
#ifndef MODEL_SHORT_CONFIG_H
#define MODEL_SHORT_CONFIG_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config/config.h"

struct config_file; /* config_fields.h */

/* Has a block of c the short convolution? */
int config_has_short(const struct config *c);
/* After the table's numbers are read: set mlp to the channels that an MLP has
 * (block_auto_adjust_ff_dim); or KV, and which blocks have
 * the convolution, from a GGUF's list of key-value heads.  -1 and *e: a value
 * is wrong. */
int short_from_json(struct config_file *f, struct err *e);
int short_from_gguf(struct config_file *f, const struct gguf *g, struct err *e);
/* Put the list of key-value heads. */
void short_to_gguf(const struct config *c, struct gguf_out *o);
/* Refuse a configuration that a GGUF cannot describe. */
int short_check_gguf(const struct config *c, struct err *e);

#endif
