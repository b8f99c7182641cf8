/* The option --weights: a number for each of some sources. */
#ifndef BASE_WEIGHTS_H
#define BASE_WEIGHTS_H

#include "base/err.h"

#include <stddef.h>

/* Split the list "name=number,...".  number[i] becomes the text of the number
 * that is given for name[i], i < n, or NULL if name[i] is not in the list;
 * these texts lie in `text`, which is changed.  If `word` is not NULL, the list
 * may also contain this word.  Returns 1 if it does, else 0.  -1 and *e
 * (EX_USAGE): the list has an item of another form, an unknown name, or a name
 * twice. */
int weights_split(const char **number, const char *const *name, size_t n,
    char *text, const char *word, struct err *e);

#endif
