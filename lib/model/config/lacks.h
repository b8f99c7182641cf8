/* Messages that refuse a model because of its type. */
#ifndef MODEL_LACKS_H
#define MODEL_LACKS_H

#include "base/err.h"

/* What models of this model_type, or GGUFs of this architecture, have that
 * lib/model lacks, such as "blocks of Mamba"; NULL: the type is not known. */
const char *family_lacks(const char *type);

/* Refuse a model whose `key`, such as "model_type", is `type`.  Returns -1. */
int family_refuse(const char *key, const char *type, struct err *e);

#endif
