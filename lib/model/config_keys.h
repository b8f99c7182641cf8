/* The table of config.json's keys.  Private to lib/model. */
#ifndef MODEL_CONFIG_KEYS_H
#define MODEL_CONFIG_KEYS_H

#include "base/err.h"

#include <jansson.h>

/* Check that the family (a bit of family.h) knows every key of j, and that each
 * value is implemented.  -1: "KEY: why". */
int config_check_keys(const json_t *j, unsigned family, struct err *e);

#endif
