/* Charts of a sweep of plan(1) over its first key. */
#ifndef REPORT_PREDICTIONS_H
#define REPORT_PREDICTIONS_H

#include "table.h"
#include "base/err.h"
#include "base/mem.h"

/* Append the table and the charts of a sweep to a page. */
void predictions_page(struct buf *b, const struct table *t);
/* Does the first line of the file name a figure that is drawn?  The file must
 * not be empty. */
int predictions_known(const struct lines *l);
/* Append an SVG image of the sweep in a file.  -1 and *e. */
int predictions_image(struct buf *b, const char *path, struct err *e);

#endif
