/* RoPE in a GGUF.  Private to lib/model. */
#ifndef MODEL_GGUF_ROPE_H
#define MODEL_GGUF_ROPE_H

#include "format/gguf.h"
#include "format/gguf_write.h"
#include "model/config.h"

/* Read base, kind and numbers of RoPE into c, whose sizes and family are set.
 * -1 and *e: a value is missing, wrong or not implemented. */
int rope_from_gguf(struct config *c, const struct gguf *g, struct err *e);
/* Put the keys about the scaling of RoPE. */
void rope_to_gguf(const struct config *c, struct gguf_out *o);
/* A key of config.json about RoPE whose value a GGUF of c cannot say; NULL:
 * there is no such key. */
const char *rope_unsaid(const struct config *c);

/* The tensors that hold a divisor for each frequency. */
struct rope_divisors {
    const char *name[2];
    float *x[2]; /* [n], malloc'd */
    size_t n, count;
};
void rope_divisors_init(struct rope_divisors *v, const struct config *c);
void rope_divisors_release(struct rope_divisors *v);
/* Is it the name of such a tensor, read for a model like c? */
int rope_is_divisors(const struct config *c, const char *name);

#endif
