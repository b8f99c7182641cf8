/* Mistral's tokenizer files. */
#ifndef TOK_TEKKEN_H
#define TOK_TEKKEN_H

#include "base/err.h"
#include "format/json.h"

/* Mistral's tekken.json as a tokenizer.json, which the caller frees; NULL and
 * *e. */
json_t *tekken_load(const char *path, struct err *e);

#endif
