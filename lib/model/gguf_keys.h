/* Keys of a GGUF whose names begin with its architecture.  Only for
 * lib/model. */
#ifndef MODEL_GGUF_KEYS_H
#define MODEL_GGUF_KEYS_H

#include "format/gguf.h"
#include "model/config.h"

/* The key ARCHITECTURE.NAME, such as "llama.NAME", for a model of c's family;
 * valid until the next call. */
const char *arch_key(const struct config *c, const char *name);
/* gguf_size and gguf_real of the key ARCHITECTURE.NAME. */
int arch_size(const struct config *c, const struct gguf *g, const char *name,
    size_t lo, size_t hi, size_t *r, struct err *e);
int arch_real(const struct config *c, const struct gguf *g, const char *name,
    double lo, double hi, double *r, struct err *e);
/* Check that the key ARCHITECTURE.NAME is there.  -1 and *e: it is missing. */
int arch_must(const struct config *c, const struct gguf *g, const char *name,
    struct err *e);
/* Read a size from 1 to hi, which must be there; -1 and *e: the key is missing
 * or has another value. */
int arch_need(const struct config *c, const struct gguf *g, const char *name,
    size_t hi, size_t *r, struct err *e);

#endif
