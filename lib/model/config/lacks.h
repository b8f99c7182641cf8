/* Messages that refuse a model because of its type. */
#ifndef MODEL_LACKS_H
#define MODEL_LACKS_H

#include "base/err.h"

/* type: a model_type, or a general.architecture of a GGUF.  Return what models
 * of that type have and lib/model lacks, such as "blocks of Mamba"; NULL if the
 * type is unknown. */
const char *family_lacks(const char *type);

/* Refuse a model whose `key`, such as "model_type", is `type`.  Returns -1. */
int family_refuse(const char *key, const char *type, struct err *e);

#endif
