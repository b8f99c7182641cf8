/* The keys of config.json about latent attention (mla.h). */
#ifndef MODEL_MLA_CONFIG_H
#define MODEL_MLA_CONFIG_H

#include "model/config.h"

/* Read the keys, and set D, KV and rotary, if c is of a family with latent
 * attention; before RoPE is read.  -1 and *e: a size is wrong. */
int mla_from_json(struct config *c, const json_t *j, struct err *e);
/* Set these keys; head_dim is what transformers makes of it, `rope`. */
void mla_to_json(const struct config *c, json_t *j);
/* Refuse, after RoPE has been read, numbers of it that are not implemented. */
int mla_check_rope(const struct config *c, const json_t *j, struct err *e);

#endif
