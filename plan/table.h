/* Tables of text with heads, printed aligned, as TSV or as JSON. */
#ifndef PLAN_TABLE_H
#define PLAN_TABLE_H

#include "figures.h"
#include "base/mem.h"

#include <stddef.h>

/* A table of text cells, stored row by row; the first row has the heads of the
 * columns.  { 0 } is an empty table. */
struct table {
    char **cell; /* [n], owned */
    size_t n, ncol;
    int prose; /* 1: the last column is text, aligned left */
};
/* Add the next cell, row by row, heads first; the text is copied. */
void table_add(struct table *t, const char *text);
/* Add the text in the buffer as a cell, and clear the buffer. */
void table_add_buf(struct table *t, struct buf *b);
/* Add a row: the name and value of f and, for each of other [n], the value of
 * its figure of that name, and the ratio of this value to f's. */
void table_add_figure(struct table *t, const struct figure *f,
    const struct figures *other, size_t n, int format);
/* Append the table in one of table_formats.  JSON is a list of objects, one a
 * row, in which "-" and numbers that are not finite are null. */
void table_put(struct buf *b, const struct table *t, int format);
void table_release(struct table *t);

#endif
