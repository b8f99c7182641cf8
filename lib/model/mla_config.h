/* The keys of config.json about latent attention (mla.h). */
#ifndef MODEL_MLA_CONFIG_H
#define MODEL_MLA_CONFIG_H

#include "model/config.h"

/* Read the keys, and set D, KV and rotary, if c is of a family with latent
 * attention; before RoPE is read.  -1 and *e: a size is wrong. */
int mla_from_json(struct config *c, const json_t *j, struct err *e);
/* Set the keys of latent attention in j; head_dim is `rope`, as in
 * transformers. */
void mla_to_json(const struct config *c, json_t *j);
/* Refuse scalings of RoPE that are not implemented for latent attention; call
 * it after c's RoPE has been read. */
int mla_check_rope(const struct config *c, const json_t *j, struct err *e);

#endif
