/* The keys of config.json. */
#ifndef MODEL_CONFIG_KEYS_H
#define MODEL_CONFIG_KEYS_H

#include "base/err.h"

#include <jansson.h>

/* Check that each key of j that the family (a bit of family.h) reads has a
 * value that is implemented.  A note at -v names the keys that are not read.
 * -1 and *e, "KEY: why": a value is not implemented. */
int config_check_keys(const json_t *j, uint64_t family, struct err *e);

/* Check that v, the value of key `name`, is the one whose JSON text is `only`;
 * a key that changes no number may have any value.  -1 and *e: as above. */
int config_check_value(const json_t *v, const char *name, const char *only,
    struct err *e);

/* Copy j, the configuration of a text model, without the keys that the family
 * does not read.  In the copy, missing keys have the values that transformers
 * assumes, and a key with two names has the name that lib/model reads.
 * model: the whole config.json, whose token ids and tie_word_embeddings replace
 * those of j; j itself, if j is the whole.
 * The caller frees the copy.  NULL and *e: two names of a key have different
 * values. */
json_t *config_fill(const json_t *j, const json_t *model, uint64_t family,
    struct err *e);

/* The number that transformers assumes if the key is missing; 0: it assumes
 * none. */
double config_missing(const char *name, uint64_t family);

#endif
