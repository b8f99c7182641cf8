/* The cost of a training step by length, rows and vocabulary, as bench measures
 * it: lines "# layer_XN: ..." (X: T, B or V; N: its value), with the
 * microseconds that one thread takes for a token. */
#ifndef REPORT_COST_H
#define REPORT_COST_H

#include "table.h"
#include "base/err.h"
#include "base/mem.h"

/* Does the file have a line of costs, or begin as a file of bench? */
int cost_known(const struct lines *l);
/* Append an SVG image of the costs in a file, or their table for a terminal.
 * -1 and *e. */
int cost_image(struct buf *b, const char *path, struct err *e);
int cost_table(struct buf *b, const char *path, struct err *e);

#endif
