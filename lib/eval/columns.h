/* Cells of a report, for people or as TSV. */
#ifndef EVAL_TABLE_H
#define EVAL_TABLE_H

#include "base/mem.h"
#include "eval/mean.h"

enum format { FMT_TEXT, FMT_TSV };
extern const char *const format_names[]; /* "text", "tsv", NULL */

/* A number behind a tab, or right in a column behind a space; "-" if it is not
 * finite. */
void put_cell(struct buf *b, const char *fmt, double v);
void put_column(struct buf *b, int width, const char *fmt, double v);
/* "low..high", fmt having both, in a column; "-" as above. */
void put_range(struct buf *b, int width, const char *fmt, double low,
    double high);
/* The end of a line: the difference a - c of two models by their labels, with
 * so many digits, its error, and how many errors it is. */
void put_difference(struct buf *b, const char *a, const char *c,
    const struct mean *m, int digits);

#endif
