/* --worst: the documents that a model predicts worst. */
#ifndef EVALPPL_WORST_H
#define EVALPPL_WORST_H

#include "eval.h"
#include "format/sheet.h"

/* Append at most `most` documents: those where the first model that is not the
 * base has the highest KL or, if there is no base, the highest loss.  Merges
 * units (units_merge). */
void worst_print(const struct eval *e, size_t most, struct sheet *s);

#endif
