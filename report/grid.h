/* A table built once and shown on a page or on a terminal. */
#ifndef REPORT_GRID_H
#define REPORT_GRID_H

#include "base/mem.h"

#include <stddef.h>

struct grid {
    const char *id, *caption; /* borrowed */
    char **cell;              /* [ncell], the heads first; owned */
    size_t ncell, ncol;
};

/* Begin with the heads, separated by "|". */
void grid_init(struct grid *g, const char *id, const char *caption,
    const char *heads);
/* Add the next cell, row by row; a number that is not finite is "-". */
void grid_text(struct grid *g, const char *text);
void grid_number(struct grid *g, const char *fmt, double v);
void grid_release(struct grid *g);

/* Append the table, or nothing if it has no rows.  The first column has names,
 * aligned left.  On a terminal cells are cut to 16 columns, lines to 80. */
void grid_page(struct buf *b, const struct grid *g);
void grid_terminal(struct buf *b, const struct grid *g);

#endif
