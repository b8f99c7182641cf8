/* The table of config.json's keys.  Private to lib/model. */
#ifndef MODEL_CONFIG_KEYS_H
#define MODEL_CONFIG_KEYS_H

#include "base/err.h"

#include <jansson.h>

/* Check that what the family (a bit of family.h) reads of j is implemented, with
 * its value; a note at -v names the keys that no program reads.  -1: "KEY:
 * why". */
int config_check_keys(const json_t *j, unsigned family, struct err *e);

/* A copy of j without keys that are ignored, in which keys that are missing have
 * transformers' values, and a key of two names has the one that is read.  model: the object that j is the
 * part about text of, whose token ids and tie_word_embeddings count before j's;
 * or j itself.  The caller frees it; NULL and *e: a key has two values. */
json_t *config_fill(const json_t *j, const json_t *model, unsigned family,
    struct err *e);

/* The number that transformers takes where the key is missing; 0: none. */
double config_missing(const char *name, unsigned family);

#endif
