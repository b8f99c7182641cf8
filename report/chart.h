/* Charts as SVG elements; style.css has their colours and font. */
#ifndef REPORT_CHART_H
#define REPORT_CHART_H

#include "base/mem.h"

#include <stddef.h>

/* A value; NAN is a gap. */
struct point {
    double x, y;      /* chart_rows does not use x */
    double low, high; /* interval of y, for chart_rows */
    double mean;      /* set by chart_lines */
};
struct series {
    char *name;      /* owned */
    size_t colour;   /* one of the six of style.h, modulo 6 */
    struct point *p; /* [n], owned */
    size_t n;
    int points; /* 1: chart_lines draws marks instead of a line */
};

struct chart {
    const char *id; /* id of the element; not needed for an image */
    const char *title, *note;
    const char *x, *y; /* labels of the axes, with units */
    int tight;         /* 1: y is scaled to the running means */
    int plain;         /* 1: no running means; x need not begin at 0 */
    int powers;        /* 1: x is a logarithm to base 2 */
    int image;         /* 1: a panel of an image (image.h) */
    struct series *s;  /* [ns], owned */
    size_t ns;
};

/* Add a series, valid until the next one is added. */
struct series *chart_new(struct chart *c, const char *name, size_t colour);
/* Find the series of that name, or add it with the next colour; NULL: there are
 * `most` series with other names already. */
struct series *chart_series(struct chart *c, const char *name, size_t most);
void series_add(struct series *s, double x, double y);
void series_interval(struct series *s, double y, double low, double high);
void series_release(struct series *s);

/* Append a chart of lines over x, with running means if there are many points.
 * chart_lines and chart_rows release the series, and append nothing if no
 * series has a value. */
void chart_lines(struct buf *b, struct chart *c);
/* Append a chart of n named rows, one below the other; all series have n
 * values. */
void chart_rows(struct buf *b, struct chart *c, const char *const *name);
/* Append a map of values v [rows,columns] in [0,1], darker for higher values; c
 * has no series.  Rows are numbered from 0, the first on top. */
void chart_map(struct buf *b, const struct chart *c, size_t rows,
    size_t columns, const double *v);

/* Number of lines in the legend of an image's panel, each CHART_LINE high. */
enum { CHART_LINE = 16 };
size_t chart_legend_lines(const struct chart *c);

#endif
