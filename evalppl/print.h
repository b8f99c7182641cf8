/* The report. */
#ifndef EVALPPL_PRINT_H
#define EVALPPL_PRINT_H

#include "eval.h"
#include "format/sheet.h"

/* Append the figures of all models. */
void eval_print(const struct eval *e, struct sheet *s, int per_source,
    int compare);
/* Write the figures so far to standard error.  Merges units (units_merge). */
void eval_partial(struct eval *e);

#endif
