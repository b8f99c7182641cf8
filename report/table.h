/*
 * Files of lines, and tables in them.  A table is a header of column names,
 * then rows with as many fields, separated by tabs; an empty line or the end of
 * the file ends it.  Columns are found by name, so that columns of a later
 * version do no harm.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

#define NONE ((size_t)-1)

struct lines {
    char *text;  /* the file, cut into lines; owned */
    char **line; /* [n], into text */
    size_t n;
    int torn; /* 1: the last line has no newline */
};

/* Read a regular file of at most 256 MB of text.  1: the caller releases *l; 0:
 * there is no file; -1 and *e. */
int lines_read(struct lines *l, const char *path, struct err *e);
/* Drop a last line without a newline, which is still being written, unless it
 * is the only line. */
void lines_whole(struct lines *l);
void lines_release(struct lines *l);

/* { 0 } is a table without rows. */
struct table {
    char **cell; /* [1 + nrow, ncol], the header first */
    size_t nrow, ncol;
    size_t line; /* line of the header in its file, from 1 */
};

/* Read the table that begins at line *at, and set *at to the line that ends it.
 * The lines are cut into its cells.  -1 and *e (without the file's name): a row
 * has more or fewer fields. */
int table_parse(struct table *t, struct lines *l, size_t *at, struct err *e);
void table_release(struct table *t);

/* Check that the table has the columns `names`, a list separated by blanks;
 * numbers: 1: check too that their cells are numbers or "-".  0, or -1 and *e.
 */
int table_need(const struct table *t, const char *names, int numbers,
    struct err *e);

/* Append the image that draw makes of the table in the file at path, which must
 * have the columns `names` (table_need).  -1 and *e with the file's name. */
int table_image(struct buf *b, const char *path, const char *names, int numbers,
    int (*draw)(struct buf *b, const struct table *t, struct err *e),
    struct err *e);

/* Find a column by name; NONE: there is none. */
size_t table_column(const struct table *t, const char *name);

/* Text of a cell, rows from 0; "-" if row or column is NONE. */
const char *table_cell(const struct table *t, size_t row, size_t column);
/* Value of a cell; NAN if it is no number, or beyond 1e30, which no figure
 * reaches and no chart can show. */
double table_real(const struct table *t, size_t row, size_t column);

#endif
