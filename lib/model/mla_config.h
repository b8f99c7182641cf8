/* Latent attention (mla.h) in configurations. */
#ifndef MODEL_MLA_CONFIG_H
#define MODEL_MLA_CONFIG_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config.h"

/* Read the keys of config.json, and set D and KV, if c is of a family with
 * latent attention.  Call it before RoPE is read.  -1 and *e: a size is
 * wrong. */
int mla_from_json(struct config *c, const json_t *j, struct err *e);
/* Set the keys of latent attention in j; head_dim is `rope`, as in
 * transformers. */
void mla_to_json(const struct config *c, json_t *j);
/* Read the keys of a GGUF for c of such a family, and set D, KV and rotary.
 * -1 and *e: a size is missing or wrong. */
int mla_from_gguf(struct config *c, const struct gguf *g, struct err *e);
/* Put the keys, if c has latent attention. */
void mla_to_gguf(const struct config *c, struct gguf_out *o);
/* A key of config.json whose value a GGUF of c cannot say: its readers take
 * mscale to be mscale_all_dim, and a group of experts to be as good as its two
 * best experts.  NULL: there is no such key. */
const char *mla_unsaid(const struct config *c);
/* Refuse scalings of RoPE that are not implemented for latent attention; call
 * it after c's RoPE has been read. */
int mla_check_rope(const struct config *c, const json_t *j, struct err *e);

#endif
