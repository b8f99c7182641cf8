/* RoPE in a GGUF.  Private to lib/model. */
#ifndef MODEL_GGUF_ROPE_H
#define MODEL_GGUF_ROPE_H

#include "model/config/config_fields.h"

/* Read RoPE's kind and numbers into f, whose other fields have been read.  -1
 * and *e: a value is missing, wrong or not implemented. */
int rope_from_gguf(struct config_file *f, const struct gguf *g, struct err *e);
/* Set log_multiplier and attn_factor of f from f->c, and put the kind and the
 * numbers of RoPE's scaling. */
void rope_file_of(struct config_file *f);
void rope_to_gguf(const struct config_file *f, struct gguf_out *o);
/* The key of config.json, with its value, of a RoPE that a GGUF cannot express;
 * NULL: a GGUF can express the RoPE of c. */
const char *rope_unsaid(const struct config *c);

/* Tensors of a GGUF such as rope_freqs.weight: RoPE's frequency i is divided by
 * element i. */
struct rope_divisors {
    const char *name[2];
    float *x[2];  /* [n], malloc'd */
    size_t n;     /* frequencies */
    size_t count; /* tensors: 0, 1 or 2 */
};
void rope_divisors_init(struct rope_divisors *v, const struct config *c);
void rope_divisors_release(struct rope_divisors *v);
/* Does rope_from_gguf read the tensor `name`, if c is the result? */
int rope_is_divisors(const struct config *c, const char *name);

#endif
