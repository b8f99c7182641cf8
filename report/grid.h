/* A table to be shown: built once, put on a page or on a terminal. */
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
/* The next cell.  A number: "-" if it is not finite. */
void grid_text(struct grid *g, const char *text);
void grid_number(struct grid *g, const char *fmt, double v);
void grid_release(struct grid *g);

/* The first column is of names, to the left.  Nothing without rows.  On a
 * terminal cells are cut to 16 columns, and a line to 80. */
void grid_page(struct buf *b, const struct grid *g);
void grid_terminal(struct buf *b, const struct grid *g);

#endif
