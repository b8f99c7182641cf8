/* --tokens: a file with a line for each scored prediction. */
#ifndef EVALPPL_TOKENS_H
#define EVALPPL_TOKENS_H

#include "pack.h"

struct tokens;
/* Begin the file; all die on errors. */
struct tokens *tokens_begin(const struct eval *e, const char *path);
/* Append the predictions of p, which have just been scored. */
void tokens_add(struct tokens *t, const struct eval *e, const struct pack *p);
/* Give the file its name, and free t. */
void tokens_end(struct tokens *t);

#endif
