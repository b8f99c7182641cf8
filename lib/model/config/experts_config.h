/* Experts in configurations and in the names of tensors. */
#ifndef MODEL_EXPERTS_CONFIG_H
#define MODEL_EXPERTS_CONFIG_H

#include "model/config/config.h"

struct config_file; /* config_fields.h */

/* Is c a mixture of experts? */
int config_is_mixture(const struct config *c);

/* Set how c's family chooses experts; nothing if it has none. */
void experts_init(struct config *c);
/* After the table's numbers are read: set the shared expert's width, the blocks
 * without experts and, from topk_method, the groups.  If the family has no
 * experts, do nothing.  -1 and *e: a value is missing or not implemented. */
int experts_from_json(struct config_file *f, const json_t *j, struct err *e);
int experts_from_gguf(struct config_file *f, struct err *e);
/* Number of first blocks without experts. */
size_t experts_first(const struct config *c);
/* Values of mlp_only_layers and topk_method. */
json_t *dense_blocks_json(const struct config *c);
json_t *router_method_json(const struct config *c);
/* Refuse a mixture that a GGUF cannot describe. */
int experts_check_gguf(const struct config *c, struct err *e);

/* Write to out [size] the name of tensor t of a block of shape b.
 * experts_name: in a Hugging Face file, after "model.layers.N."; `expert`:
 * whose matrix, if t is one for each expert.  experts_name_gguf: in a GGUF,
 * where one tensor has all experts, after "blk.N.". */
void experts_name(const struct config *c, const struct block_shape *b, int t,
    size_t expert, char *out, size_t size);
void experts_name_gguf(const struct config *c, const struct block_shape *b,
    int t, char *out, size_t size);
/* Is tensor t stored as one matrix for each expert in a Hugging Face file? */
int experts_apart(int t);

#endif
