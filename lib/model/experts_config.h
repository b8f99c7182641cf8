/* Experts in configurations and in the names of tensors.  A table in
 * experts_config.c lists how families of mixtures of experts differ. */
#ifndef MODEL_EXPERTS_CONFIG_H
#define MODEL_EXPERTS_CONFIG_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config.h"

/* Is c a mixture of experts? */
int config_is_mixture(const struct config *c);

/* Read the keys about experts of a config.json, if c is of a family that has
 * them.  c->mlp and c->L have been read.  -1 and *e: a value is missing or not
 * implemented. */
int experts_from_json(struct config *c, const json_t *j, struct err *e);
/* Set the keys about experts in j. */
void experts_to_json(const struct config *c, json_t *j);

/* Read the keys about experts of a GGUF, if c is of a family that has them;
 * c->mlp and c->L have been read.  Where the file does not say how weights
 * follow from logits, and whether they are divided by their sum, llama.cpp's
 * answer for the family is taken.  -1 and *e: a value is missing or wrong. */
int experts_from_gguf(struct config *c, const struct gguf *g, struct err *e);
/* Put the keys about experts, if c has experts. */
void experts_to_gguf(const struct config *c, struct gguf_out *o);
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
