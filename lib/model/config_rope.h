/* RoPE in config.json.  Private to lib/model. */
#ifndef MODEL_CONFIG_ROPE_H
#define MODEL_CONFIG_ROPE_H

#include "model/config.h"

/* Read base, kind and numbers of RoPE, and which blocks have no RoPE, from the
 * keys of transformers 4 and 5, into c, whose sizes and family are set.  A key
 * that is missing takes the family's default. */
int config_read_rope(struct config *c, const json_t *j, struct err *e);
/* config_put_rope: set rope_parameters, which transformers 5 reads, in j.
 * config_put_old_rope: set the keys that transformers 4 reads. */
void config_put_rope(const struct config *c, json_t *j);
void config_put_old_rope(const struct config *c, json_t *j);
/* If rope_scale was not given, compute it from the other numbers. */
void config_rope_scale(struct config *c);

#endif
