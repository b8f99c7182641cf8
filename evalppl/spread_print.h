/* The part of the report that --spread adds. */
#ifndef EVALPPL_SPREAD_PRINT_H
#define EVALPPL_SPREAD_PRINT_H

#include "eval.h"
#include "format/sheet.h"

/* Append percentiles and errors of every model against the base. */
void spread_print(const struct eval *e, struct sheet *s, int per_source);

#endif
