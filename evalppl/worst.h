/* --worst: the documents that a model predicts worst. */
#ifndef EVALPPL_WORST_H
#define EVALPPL_WORST_H

#include "eval.h"
#include "format/sheet.h"

/* Append the `most` documents with the highest KL of the first model that is
 * not the base or, if there is no base, with the highest loss of the first
 * model.  Merges units (units_merge). */
void worst_print(const struct eval *e, size_t most, struct sheet *s);

#endif
