/* --token-losses: a file with a line for each scored prediction. */
#ifndef EVALPPL_LOSSES_H
#define EVALPPL_LOSSES_H

#include "pack.h"

struct losses;
/* Begin the file.  All functions of this header die on errors. */
struct losses *losses_begin(const struct eval *e, const char *path);
/* Append the predictions of p, which have just been scored. */
void losses_add(struct losses *t, const struct eval *e, const struct pack *p);
/* Give the file its name, and free t. */
void losses_end(struct losses *t);

#endif
