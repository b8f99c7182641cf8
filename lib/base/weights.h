/* The option --weights: a number for each of some sources. */
#ifndef BASE_WEIGHTS_H
#define BASE_WEIGHTS_H

#include "base/err.h"

#include <stddef.h>

/* Cut text, "name=number,...", in place, and set number [n] to the number of
 * each of the n names, NULL for a name that has none.  An item may also be
 * `word` (NULL: none is allowed).  Returns 1 if one is, else 0; -1 and *e
 * (EX_USAGE): an item is neither, or its name is unknown or comes twice. */
int weights_split(const char **number, const char *const *name, size_t n,
    char *text, const char *word, struct err *e);

#endif
