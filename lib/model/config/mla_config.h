/* Latent attention (mla.h) in configurations. */
#ifndef MODEL_MLA_CONFIG_H
#define MODEL_MLA_CONFIG_H

#include "format/json.h"
#include "model/config/config.h"

struct config_file; /* config_fields.h */

/* Has c latent attention? */
int config_has_mla(const struct config *c);
/* Numbers of a head's output: v with latent attention, else D. */
size_t mla_value(const struct config *c);
/* Numbers in a token's row of latents: q_rank + kv_rank + rope. */
size_t mla_latent(const struct config *c);

/* After the table's numbers are read: set and check D, KV and c.mla.  If the
 * family has no latent attention, do nothing.  Call it before RoPE is read.
 * -1 and *e: a size is wrong. */
int mla_from_json(struct config_file *f, struct err *e);
int mla_from_gguf(struct config_file *f, struct err *e);
/* A key of config.json for whose value a GGUF of c has no key: its readers take
 * mscale to be mscale_all_dim, and a group of experts to be as good as its two
 * best experts.  NULL: there is no such key. */
const char *mla_unsaid(const struct config *c);
/* Refuse scalings of RoPE that are not implemented for latent attention; call
 * it after c's RoPE has been read. */
int mla_check_rope(const struct config *c, const json_t *j, struct err *e);

#endif
