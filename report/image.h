/* Several charts in a grid, as one SVG image. */
#ifndef REPORT_IMAGE_H
#define REPORT_IMAGE_H

#include "chart.h"
#include "base/mem.h"

#include <stddef.h>

/* { 0 } is empty. */
struct image {
    struct buf panels;
    size_t n;      /* number of panels */
    size_t height; /* height of a panel */
};

/* Begin an SVG image of that size, with the style of pages. */
void image_begin(struct buf *b, double width, double height);
/* Add a chart of lines at the next place, and release its series; a chart
 * without a value is not added.  The first chart's legend sets the height of
 * all panels. */
void image_add(struct image *m, struct chart *c);
/* Append the whole image and release *m. */
void image_put(struct buf *b, struct image *m);

#endif
