/* Configurations of models with the gated short convolution (pass/short.c). */
#ifndef MODEL_SHORT_CONFIG_H
#define MODEL_SHORT_CONFIG_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config/config.h"

struct config_file; /* config_fields.h */

/* Has a block of c the short convolution? */
int config_has_short(const struct config *c);
/* Call these after the table's fields have been read.  short_from_json sets the
 * channels of the MLP, which block_auto_adjust_ff_dim derives from
 * intermediate_size.  short_from_gguf reads the list of key-value heads of the
 * blocks: it sets KV, and `linear` where the number is 0.  -1 and *e: a value
 * is wrong. */
int short_from_json(struct config_file *f, struct err *e);
int short_from_gguf(struct config_file *f, const struct gguf *g, struct err *e);
/* Put the list of key-value heads of the blocks, 0 for the convolution. */
void short_to_gguf(const struct config *c, struct gguf_out *o);
/* Refuse a configuration that a GGUF cannot describe. */
int short_check_gguf(const struct config *c, struct err *e);

#endif
