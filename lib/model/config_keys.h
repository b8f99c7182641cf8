/* The table of config.json's keys. */
#ifndef MODEL_CONFIG_KEYS_H
#define MODEL_CONFIG_KEYS_H

#include "base/err.h"

#include <jansson.h>

/* Check that each key of j which the family (a bit of family.h) reads has a
 * value that is implemented; a note at -v names the others.  -1: "KEY: why". */
int config_check_keys(const json_t *j, unsigned family, struct err *e);

/* A copy of j without the keys that are ignored, in which missing keys have
 * transformers' values, and a key of two names has the one that is read.
 * model: the object that has j as its part about text, and whose token ids and
 * tie_word_embeddings count before those of j; or j itself.  The caller frees
 * the copy; NULL and *e: a key has two values. */
json_t *config_fill(const json_t *j, const json_t *model, unsigned family,
    struct err *e);

/* The number that transformers takes where the key is missing; 0: none. */
double config_missing(const char *name, unsigned family);

#endif
