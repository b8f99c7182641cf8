/* Rows of recipes/results as an image. */
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "base/err.h"
#include "base/mem.h"

/* First bytes of a file that rows_image can draw. */
#define ROWS_HEADER "run\tmodel\t"

/* Append an SVG image of the rows: recovery (%) and KL (nats a token) of cut
 * models against tokens trained on and against parameters.  -1 and *e. */
int rows_image(struct buf *b, const char *path, struct err *e);

#endif
