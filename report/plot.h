/* Lines in a grid of characters. */
#ifndef REPORT_PLOT_H
#define REPORT_PLOT_H

#include "base/mem.h"

#include <stddef.h>

enum { PLOT_LINES = 26 };

/* { .columns = C, .rows = R } has no lines yet. */
struct plot {
    size_t columns, rows; /* of the whole drawing, axes included */
    struct {
        const double *x, *y; /* [n], not copied; NAN is left out */
        size_t n;
        char letter;
    } line[PLOT_LINES];
    size_t n;
};

void plot_line(struct plot *p, const double *x, const double *y, size_t n,
    char letter);
/* Append the drawing, or nothing if no line has a value.  In each column a
 * line's letter stands at the median of the line's values in that column; where
 * lines meet, an asterisk does.  The left margin shows the largest and smallest
 * value drawn, the last row the first and last x. */
void plot_draw(struct buf *b, const struct plot *p, const char *title);

#endif
