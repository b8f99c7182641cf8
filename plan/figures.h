/* Figures that plan prints: numbers with names, in the order in which they were
 * added.  figures.json has each figure's unit and formula. */
#ifndef PLAN_FIGURES_H
#define PLAN_FIGURES_H

#include "base/mem.h"

#include <stddef.h>

struct figure {
    const char *name; /* a constant of figures.json */
    double v;
};
enum { FIGURES = 96 };
struct figures {
    struct figure f[FIGURES];
    size_t n;
};

void figure_add(struct figures *f, const char *name, double v);
/* Find a figure by name; NULL: there is none. */
const struct figure *figure_find(const struct figures *f, const char *name);
/* Value of a figure by name; NAN: there is none. */
double figure_of(const struct figures *f, const char *name);
/* The sum of the figures whose names begin with prefix. */
double figure_sum(const struct figures *f, const char *prefix);

/* Does "cluster" of figures.json have a figure of that name? */
int figure_exists(const char *name);
/* The formula of a figure, or its source in a machine's file, by a part of
 * figures.json: "run", "cluster" or "machine". */
const char *figure_formula(const struct figure *f, const char *part);

/* Formats of figures and tables.  FORMAT_BARS, only for tables: text, with bars
 * for the last column. */
enum { FORMAT_TEXT, FORMAT_TSV, FORMAT_JSON, FORMAT_BARS };
extern const char *const figure_formats[], *const table_formats[];
/* Append all figures as text, TSV or JSON; explain: with their units and
 * formulas.  part: the part of figures.json that has the formulas, "run" or
 * "cluster".  If the part has an explanation of a figure, text has it too.  A
 * value that is not finite is null in JSON. */
void figures_put(struct buf *b, const struct figures *f, int format,
    const char *part, int explain);
/* Append v right-aligned in `columns` columns, then the unit of f, as text. */
void figure_text(struct buf *b, const struct figure *f, double v, int columns);
/* Append v in the base unit of f; "-" if it is not finite. */
void figure_plain(struct buf *b, const struct figure *f, double v);

#endif
