/* Charts as plain SVG elements, which take the page's colours and font. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "base/mem.h"

#include <stddef.h>

/* A value a point; NAN is a gap.  Borrowed. */
struct series {
    const char *name;
    size_t colour;            /* of the page's six, counted round */
    const double *x, *y;      /* [n]; x is not used by chart_rows */
    const double *low, *high; /* [n] interval of y, for chart_rows */
    size_t n;
    int points; /* chart_lines draws marks, no line */
};

struct chart {
    const char *id; /* of the element, a word of our own */
    const char *title, *note;
    const char *x, *y;      /* labels of the axes, with units */
    int tight;              /* scaled to the running means */
    int plain;              /* no running means, x where its values are */
    int image;              /* of an SVG image, no figure of a page */
    const struct series *s; /* [ns] */
    size_t ns;
};

/* Lines over steps, with their running means where there are many points.
 * Nothing is drawn when no series has a value, here and below. */
void chart_lines(struct buf *b, const struct chart *c);
/* Values of named rows, one below the other: the same n in all series. */
void chart_rows(struct buf *b, const struct chart *c, const char *const *name);
/* A map of rows x columns values in [0,1], the darker the higher; c has no
 * series.  Rows are numbered from 0, the first on top. */
void chart_map(struct buf *b, const struct chart *c, size_t rows,
    size_t columns, const double *v);

#endif
