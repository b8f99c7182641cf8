/* Boxes and arrows between them, drawn from a table. */
#ifndef REPORT_FLOW_H
#define REPORT_FLOW_H

#include "base/err.h"
#include "base/mem.h"

/* How the header of such a file begins. */
#define FLOW_HEADER "column\trow\tname\t"

/* Append an SVG image of the table at path: a box in each place (column, row),
 * with its name and what it does, and an arrow to each box named in its column
 * `to` ("-": none, a comma between two).  -1 and *e. */
int flow_image(struct buf *b, const char *path, struct err *e);

#endif
