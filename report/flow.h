/* Boxes and arrows between them, drawn from a table. */
#ifndef REPORT_FLOW_H
#define REPORT_FLOW_H

#include "base/err.h"
#include "base/mem.h"

/* First bytes of a file that flow_image can draw. */
#define FLOW_HEADER "column\trow\tname\t"

/* Append an SVG image of the table at path.  Each row is a box; its columns
 * `column` and `row` say where it is drawn, `name` and `does` are its text, and
 * `to` names the boxes that its arrows lead to (separated by commas; "-":
 * none).  0, or -1 and *e. */
int flow_image(struct buf *b, const char *path, struct err *e);

#endif
