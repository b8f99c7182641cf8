/* Rows of text under heads, printed aligned, as TSV or as JSON. */
#ifndef PLAN_TABLE_H
#define PLAN_TABLE_H

#include "base/mem.h"

#include <stddef.h>

/* { 0 } is empty; the first ncol cells are the heads. */
struct table {
    char **cell; /* owned */
    size_t n, ncol;
};
/* Cells of a row one after another, heads first; text is copied. */
void table_add(struct table *t, const char *text);
/* What is in the buffer, which is cleared. */
void table_take(struct table *t, struct buf *b);
/* In a format of figure_formats. */
void table_put(struct buf *b, const struct table *t, int format);
void table_release(struct table *t);

#endif
