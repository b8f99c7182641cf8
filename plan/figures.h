/* What plan tells: numbers with a name, a unit and the formula they come from,
 * in the order in which they were made. */
#ifndef PLAN_FIGURES_H
#define PLAN_FIGURES_H

#include "base/mem.h"

#include <stddef.h>

/* Texts are constants.  unit: "" for a count, else bytes, FLOP, s, tokens/s,
 * share (of 1), TFLOP/s, days, MWh, price. */
struct figure {
    const char *name, *unit, *how;
    double v;
};
enum { FIGURES = 80 };
struct figures {
    struct figure f[FIGURES];
    size_t n;
};

void figure_add(struct figures *f, const char *name, const char *unit, double v,
    const char *how);
/* By name; NULL: there is none. */
const struct figure *figure_find(const struct figures *f, const char *name);
/* Its value; NAN where there is none. */
double figure_of(const struct figures *f, const char *name);
/* The sum of those whose names begin so. */
double figure_sum(const struct figures *f, const char *prefix);

/* Of --format, and their words; bars are text with a bar of the last column. */
enum { FORMAT_TEXT, FORMAT_TSV, FORMAT_JSON, FORMAT_BARS };
extern const char *const figure_formats[];
/* All as text, TSV or JSON; with its formula each, if explain. */
void figures_put(struct buf *b, const struct figures *f, int format,
    int explain);
/* A number of that unit as text in so many columns, with its unit. */
void figure_text(struct buf *b, const struct figure *f, double v, int columns);
/* The same as TSV has it: in the base unit. */
void figure_plain(struct buf *b, const struct figure *f, double v);

#endif
