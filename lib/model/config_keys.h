/* The table of config.json's keys.  Private to lib/model. */
#ifndef MODEL_CONFIG_KEYS_H
#define MODEL_CONFIG_KEYS_H

#include "base/err.h"

#include <jansson.h>

enum { FAMILY_LLAMA = 1, FAMILY_MISTRAL = 2 };

/* Every key of the object known to that family, and at a value that is
 * implemented?  Else -1: "KEY: why". */
int config_check_keys(const json_t *j, unsigned family, struct err *e);

#endif
