/* Columns of a report for people. */
#ifndef EVAL_COLUMNS_H
#define EVAL_COLUMNS_H

#include "base/mem.h"
#include "eval/estimate.h"

/* Two cells of a sheet (format/sheet.h): an estimate and its error. */
#define ESTIMATE(fmt, m) NUMBER(fmt, (m).v), NUMBER(fmt, (m).se)

/* Append a space and a number, right-aligned in `width` columns; "-" if it is
 * not finite. */
void put_column(struct buf *b, int width, const char *fmt, double v);
/* Append a space and the range low..high, right-aligned; "-" if low or high is
 * not finite.  fmt: printf's format of both, such as "%.1f..%.1f". */
void put_range(struct buf *b, int width, const char *fmt, double low,
    double high);
/* Append the end of a line: the labels of two models as "a - c"; their
 * difference m->v and its standard error m->se, with `digits` decimals; and
 * m->v / m->se. */
void put_difference(struct buf *b, const char *a, const char *c,
    const struct estimate *m, int digits);

#endif
