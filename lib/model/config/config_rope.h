/* RoPE in config.json.  Private to lib/model. */
#ifndef MODEL_CONFIG_ROPE_H
#define MODEL_CONFIG_ROPE_H

#include "model/config/config_fields.h"

/* Read base, kind and numbers of RoPE, and which blocks have no RoPE, from the
 * keys of transformers 4 and 5, into f, whose sizes and family are set.  A key
 * that is missing takes the family's default. */
int config_read_rope(struct config_file *f, const json_t *j, struct err *e);
/* Values of keys of config.json; NULL: the key is left out.
 *   rope_parameters        for transformers 5
 *   rope_scaling           for transformers 4, as those below
 *   original_max_position_embeddings
 *   partial_rotary_factor
 *   no_rope_layers */
json_t *rope_parameters_json(const struct config *c);
json_t *rope_scaling_json(const struct config *c);
json_t *rope_orig_json(const struct config *c);
json_t *rope_part_json(const struct config *c);
json_t *no_rope_json(const struct config *c);
/* If rope_scale was not given, compute it from the other numbers. */
void config_rope_scale(struct config *c);

#endif
