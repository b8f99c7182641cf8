/* Charts as SVG elements, which take colours and font from style.h. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "base/mem.h"

#include <stddef.h>

/* x is not used by chart_rows, low and high only there; NAN is a gap. */
struct point {
    double x, y;
    double low, high; /* interval of y */
    double mean;      /* set by chart_lines */
};
struct series {
    char *name;      /* owned */
    size_t colour;   /* one of the six of style.h, counted round */
    struct point *p; /* [n], owned */
    size_t n;
    int points; /* 1: chart_lines draws marks, no line */
};

struct chart {
    const char *id; /* id of the element; not needed for an image */
    const char *title, *note;
    const char *x, *y; /* labels of the axes, with units */
    int tight;         /* 1: scaled to the running means */
    int plain;         /* 1: no running means, x not from 0 */
    int powers;        /* 1: x has logarithms to base 2 */
    int image;         /* 1: a panel of an image (image.h) */
    struct series *s;  /* [ns], owned */
    size_t ns;
};

/* Add a series, valid until the next one is added. */
struct series *chart_new(struct chart *c, const char *name, size_t colour);
/* The series of a name, which is added, in the next colour, if it is new; NULL:
 * it is new, and there are `most` series already. */
struct series *chart_series(struct chart *c, const char *name, size_t most);
void series_add(struct series *s, double x, double y);
void series_interval(struct series *s, double y, double low, double high);
void series_release(struct series *s);

/* Append lines over x, with running means where there are many points.  This
 * and chart_rows append nothing when no series has a value, and release the
 * series. */
void chart_lines(struct buf *b, struct chart *c);
/* Append values of n named rows, one below the other; all series have n. */
void chart_rows(struct buf *b, struct chart *c, const char *const *name);
/* Append a map of rows x columns values in [0,1], the darker the higher; c has
 * no series.  Rows are numbered from 0, the first on top. */
void chart_map(struct buf *b, const struct chart *c, size_t rows,
    size_t columns, const double *v);

/* Lines that the legend of an image's panel takes, each CHART_LINE high. */
enum { CHART_LINE = 16 };
size_t chart_legend_lines(const struct chart *c);

#endif
