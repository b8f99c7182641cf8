/* Charts: see chart.h */
#include "chart.h"
#include "html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    W = 420,
    LEFT = 50,
    RIGHT = 406,
    TOP = 26,
    BOTTOM = 222,
    ROW = 20,
    NAME = 14,
    LINE = CHART_LINE
};

/* ---- series ---- */

struct series *
chart_series(struct chart *c, const char *name, size_t most)
{
    for (size_t k = 0; k < c->ns; k++)
        if (strcmp(c->s[k].name, name) == 0)
            return &c->s[k];
    return c->ns < most ? chart_new(c, name, c->ns) : NULL;
}

struct series *
chart_new(struct chart *c, const char *name, size_t colour)
{
    c->s = xgrow_pow2(c->s, c->ns, sizeof *c->s);
    c->s[c->ns] = (struct series){ .name = xstrdup(name), .colour = colour };
    return &c->s[c->ns++];
}

static void
add_point(struct series *s, struct point p)
{
    s->p = xgrow_pow2(s->p, s->n, sizeof *s->p);
    s->p[s->n++] = p;
}

void
series_add(struct series *s, double x, double y)
{
    add_point(s, (struct point){ x, y, NAN, NAN, NAN });
}

void
series_interval(struct series *s, double y, double low, double high)
{
    add_point(s, (struct point){ NAN, y, low, high, NAN });
}

void
series_release(struct series *s)
{
    free(s->name);
    free(s->p);
}

static void
release_series(struct chart *c)
{
    for (size_t k = 0; k < c->ns; k++)
        series_release(&c->s[k]);
    free(c->s);
    c->s = NULL;
    c->ns = 0;
}

/* ---- scales ---- */

enum { TICKS = 10 };

/* A scale that maps values lo..hi to positions from..to; empty if lo > hi.
 * Values outside are drawn at the nearer end. */
struct axis {
    double lo, hi, from, to;
    double tick[TICKS];
    size_t ntick;
    int digits; /* decimals of a tick; -1: as %g */
    int powers; /* 1: values are logarithms to base 2 */
};

/* Widen the scale to hold v. */
static void
axis_hold(struct axis *a, double v)
{
    if (isfinite(v)) {
        a->lo = a->lo > a->hi ? v : fmin(a->lo, v);
        a->hi = fmax(a->lo, fmax(a->hi, v));
    }
}

static double
axis_at(const struct axis *a, double v)
{
    const double part = (v - a->lo) / (a->hi - a->lo);

    return a->from + (a->to - a->from) * fmin(fmax(part, 0.0), 1.0);
}

/* Widen the scale at both ends by the share `margin` of its range or, if it
 * holds only one value, by a tenth of this value.  Choose about n ticks, at
 * multiples of 1, 2 or 5 times a power of ten. */
static void
axis_ticks(struct axis *a, double margin, double n)
{
    const double most = fmax(fabs(a->lo), fabs(a->hi));
    double power, step, m;

    margin *= a->hi - a->lo;
    if (!(a->hi - a->lo > 1e-6 * most))
        margin = most > 0.0 ? 0.1 * most : 1.0;
    a->lo -= margin;
    a->hi += margin;
    power = pow(10.0, floor(log10((a->hi - a->lo) / n)));
    m = (a->hi - a->lo) / n / power;
    step = power * (m < 1.5 ? 1 : m < 3.5 ? 2 : m < 7.5 ? 5 : 10);
    step = a->powers ? fmax(step, 1.0) : step;
    m = floor(log10(step) + 1e-9);
    a->digits = m < -6 || step >= 1e6 ? -1 : m < 0 ? (int)-m : 0;
    m = ceil(a->lo / step - 1e-9);
    for (; m * step <= a->hi + 1e-9 * step && a->ntick < TICKS; m++)
        a->tick[a->ntick++] = m == 0.0 ? 0.0 : m * step;
}

static char *
tick_text(const struct axis *a, size_t i, char *out, size_t size)
{
    if (a->powers)
        snprintf(out, size, "%.5g", exp2(a->tick[i]));
    else if (a->digits >= 0)
        snprintf(out, size, "%.*f", a->digits, a->tick[i]);
    else
        snprintf(out, size, "%.4g", a->tick[i]);
    return out;
}

/* ---- parts ---- */

static void
draw_label(struct buf *b, double x, double y, const char *class,
    const char *text)
{
    put(b, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">%s</text>\n", x, y, class,
        text);
}

static void
draw_rule(struct buf *b, double x, double y, double x2, double y2,
    const char *class)
{
    put(b,
        "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
        "class=\"%s\"/>\n",
        x, y, x2, y2, class);
}

/* Draw a mark at x, y; its colour and form depend on `kind`. */
static void
draw_mark(struct buf *b, size_t kind, double x, double y)
{
    static const char *const form[] = {
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" class=\"ring\"/>",
        "<path d=\"M%.1f %.1fm0 -4l4 7h-8z\" class=\"dot\"/>",
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.4\" class=\"dot\"/>",
        "<path d=\"M%.1f %.1fm0 -4l4 4l-4 4l-4 -4z\" class=\"dot\"/>",
        "<path d=\"M%.1f %.1fm-3 -3h6v6h-6z\" class=\"dot\"/>",
        "<path d=\"M%.1f %.1fm0 4l4 -7h-8z\" class=\"ring\"/>",
    };

    put(b, "<g class=\"c%zu\">", kind % 6);
    put(b, form[kind % 6], x, y);
    buf_adds(b, "</g>\n");
}

/* Returns the x of entry i in the legend of an image's panel; *line: its line,
 * from 0. */
static double
legend_place(const struct chart *c, size_t i, size_t *line)
{
    double x = LEFT, next = LEFT;

    *line = 0;
    for (size_t k = 0; k <= i; k++) {
        const double width = 30.0 + 7.0 * (double)columns(c->s[k].name);

        x = next;
        if (k > 0 && x + width > W) {
            x = LEFT;
            ++*line;
        }
        next = x + width;
    }
    return x;
}

size_t
chart_legend_lines(const struct chart *c)
{
    size_t line = 0;

    if (c->ns > 0)
        legend_place(c, c->ns - 1, &line);
    return line + 1;
}

/* Draw title and legend of an image's panel, above the chart. */
static void
draw_legend(struct buf *b, const struct chart *c)
{
    const double top = -24.0 - LINE * (double)(chart_legend_lines(c) - 1);

    draw_label(b, LEFT, top, "", c->title);
    for (size_t i = 0; i < c->ns; i++) {
        size_t line;
        const double x = legend_place(c, i, &line);
        const double y = top + 14.0 + LINE * (double)line;

        draw_mark(b, c->s[i].colour, x + 5, y);
        draw_label(b, x + 13, y + 4, "t", c->s[i].name);
    }
}

/* Begin a chart with its title and legend. */
static void
draw_head(struct buf *b, const struct chart *c, int height)
{
    char name[FITTED];

    if (c->image) {
        draw_legend(b, c);
        return;
    }
    put(b, "<figure id=\"%s\">\n<figcaption><b>%s.</b> %s</figcaption>\n",
        c->id, c->title, c->note);
    buf_adds(b, "<p class=\"legend\">");
    for (size_t i = 0; i < c->ns; i++) {
        buf_adds(b, "<span><svg viewBox=\"0 0 12 12\">");
        draw_mark(b, c->s[i].colour, 6, 6);
        put(b, "</svg>%s</span> ", fitted(name, c->s[i].name, 30));
    }
    buf_adds(b, "</p>\n");
    put(b, "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n", W,
        height, c->title);
}

/* Draw the vertical grid lines, and tick labels and axis label below them. */
static void
draw_x(struct buf *b, const struct axis *x, double top, double bottom,
    const char *name)
{
    char text[40];

    for (size_t i = 0; i < x->ntick; i++) {
        const double p = axis_at(x, x->tick[i]);

        draw_rule(b, p, top, p, bottom, "grid");
        draw_label(b, p, bottom + 15, "t m",
            tick_text(x, i, text, sizeof text));
    }
    draw_rule(b, x->from, bottom, x->to, bottom, "axis");
    draw_label(b, (x->from + x->to) / 2, bottom + 32, "m", name);
}

static void
draw_y(struct buf *b, const struct axis *y, const char *name)
{
    char text[40];

    for (size_t i = 0; i < y->ntick; i++) {
        const double p = axis_at(y, y->tick[i]);

        draw_rule(b, LEFT, p, RIGHT, p, "grid");
        draw_label(b, LEFT - 6, p + 4, "t e",
            tick_text(y, i, text, sizeof text));
    }
    draw_label(b, 4, TOP - 12, "", name);
}

static int
has_no_value(const struct chart *c)
{
    for (size_t k = 0; k < c->ns; k++)
        for (size_t i = 0; i < c->s[k].n; i++)
            if (isfinite(c->s[k].p[i].y))
                return 0;
    return 1;
}

/* ---- lines ---- */

/* Draw a path through a series' values (raw = 1) or their running means (raw =
 * 0).  If there are many points, draw each group of them as a vertical line
 * from its minimum to its maximum. */
static void
draw_path(struct buf *b, const struct axis *x, const struct axis *y,
    const struct series *s, int raw)
{
    const size_t step = s->n / 500 + 1;
    int pen = 0;

    put(b, "<path class=\"c%zu %s\" d=\"", s->colour % 6, raw ? "raw" : "line");
    for (size_t i = 0; i < s->n; i += step) {
        double lo = INFINITY, hi = -INFINITY;

        for (size_t k = i; k < i + step && k < s->n; k++) {
            lo = fmin(lo, raw ? s->p[k].y : s->p[k].mean);
            hi = fmax(hi, raw ? s->p[k].y : s->p[k].mean);
        }
        if (lo <= hi && isfinite(s->p[i].x)) {
            put(b, pen ? "L%.1f %.1f" : "M%.1f %.1fh0", axis_at(x, s->p[i].x),
                axis_at(y, lo));
            if (lo < hi)
                put(b, "V%.1f", axis_at(y, hi));
        }
        pen = lo <= hi;
    }
    buf_adds(b, "\"/>\n");
}

static void
draw_points(struct buf *b, const struct axis *x, const struct axis *y,
    const struct series *s)
{
    for (const struct point *p = s->p; p < s->p + s->n; p++)
        if (isfinite(p->x) && isfinite(p->y))
            draw_mark(b, s->colour, axis_at(x, p->x), axis_at(y, p->y));
}

/* Set the mean of each point: over the finite values of this point and of h
 * points on each side; NAN if the point has no finite value. */
static void
set_means(struct series *s, size_t h)
{
    double sum = 0.0;
    size_t n = 0, last = 0; /* values in sum; index after the last of them */

    for (size_t i = 0; i < s->n; i++) {
        for (; last < s->n && last <= i + h; last++)
            if (isfinite(s->p[last].y)) {
                sum += s->p[last].y;
                n++;
            }
        if (i > h && isfinite(s->p[i - h - 1].y)) {
            sum -= s->p[i - h - 1].y;
            n--;
        }
        s->p[i].mean = isfinite(s->p[i].y) ? sum / (double)n : NAN;
    }
}

static void
hold_series(struct axis *x, struct axis *y, struct series *s,
    const struct chart *c)
{
    set_means(s, c->plain ? 0 : s->n / 40);
    for (size_t i = 0; i < s->n; i++) {
        axis_hold(x, s->p[i].x);
        axis_hold(y, c->tight ? s->p[i].mean : s->p[i].y);
    }
}

void
chart_lines(struct buf *b, struct chart *c)
{
    struct axis x = { .powers = c->powers,
        .lo = c->plain,
        .hi = !c->plain,
        .from = LEFT,
        .to = RIGHT };
    struct axis y = { .lo = 1, .from = BOTTOM, .to = TOP };

    if (has_no_value(c)) {
        release_series(c);
        return;
    }
    for (size_t k = 0; k < c->ns; k++)
        hold_series(&x, &y, &c->s[k], c);
    draw_head(b, c, BOTTOM + 40);
    axis_ticks(&x, c->plain ? 0.02 : 0.0, 6);
    axis_ticks(&y, c->tight ? 0.2 : 0.04, 5);
    draw_y(b, &y, c->y);
    draw_x(b, &x, TOP, BOTTOM, c->x);
    for (size_t k = 0; k < c->ns; k++)
        if (c->s[k].n >= 40 && !c->plain)
            draw_path(b, &x, &y, &c->s[k], 1);
    for (size_t k = 0; k < c->ns; k++)
        if (c->s[k].points)
            draw_points(b, &x, &y, &c->s[k]);
        else
            draw_path(b, &x, &y, &c->s[k], 0);
    if (!c->image)
        buf_adds(b, "</svg>\n</figure>\n");
    release_series(c);
}

/* ---- rows ---- */

static void
draw_value(struct buf *b, const struct axis *x, size_t colour,
    const struct point *p, double y)
{
    if (isfinite(p->low) && isfinite(p->high)) {
        put(b, "<g class=\"c%zu\">", colour % 6);
        draw_rule(b, axis_at(x, p->low), y, axis_at(x, p->high), y, "bar");
        buf_adds(b, "</g>\n");
    }
    if (isfinite(p->y))
        draw_mark(b, colour, axis_at(x, p->y), y);
}

/* Make the scale for all values.  It begins right of the names, whose
 * characters are about 7 pixels wide. */
static struct axis
rows_axis(const struct chart *c, const char *const *name, size_t n)
{
    struct axis x = { .to = RIGHT };
    char text[FITTED];

    for (size_t i = 0; i < n; i++) {
        x.from = fmax(x.from,
            20.0 + 7.0 * (double)columns(fitted(text, name[i], NAME)));
        for (size_t k = 0; k < c->ns; k++) {
            axis_hold(&x, c->s[k].p[i].y);
            axis_hold(&x, c->s[k].p[i].low);
            axis_hold(&x, c->s[k].p[i].high);
        }
    }
    axis_ticks(&x, 0.02, 5);
    return x;
}

void
chart_rows(struct buf *b, struct chart *c, const char *const *name)
{
    const size_t n = c->ns > 0 ? c->s[0].n : 0;
    const double bottom = TOP / 4.0 + ROW * (double)n;
    struct axis x;
    char text[FITTED];

    if (has_no_value(c)) {
        release_series(c);
        return;
    }
    draw_head(b, c, (int)bottom + 40);
    x = rows_axis(c, name, n);
    draw_x(b, &x, TOP / 4.0, bottom, c->x);
    for (size_t i = 0; i < n; i++) {
        const double y = bottom - ROW * ((double)(n - i) - 0.5);

        draw_rule(b, 0, y + ROW / 2.0, W, y + ROW / 2.0, "grid");
        draw_label(b, x.from - 8, y + 4, "e", fitted(text, name[i], NAME));
        /* Marks of several series are side by side, so that none is hidden. */
        for (size_t k = 0; k < c->ns; k++)
            draw_value(b, &x, c->s[k].colour, &c->s[k].p[i],
                y + 10.0 * (((double)k + 0.5) / (double)c->ns - 0.5));
    }
    buf_adds(b, "</svg>\n</figure>\n");
    release_series(c);
}

/* ---- maps ---- */

enum { CELL = 11 }; /* height of a row */

void
chart_map(struct buf *b, const struct chart *c, size_t rows, size_t columns,
    const double *v)
{
    const double wide = (double)(RIGHT - LEFT) / (double)columns;
    const double bottom = 4.0 + CELL * (double)rows;
    int any = 0;

    for (size_t i = 0; i < rows * columns; i++)
        any |= isfinite(v[i]);
    if (!any)
        return;
    draw_head(b, c, (int)bottom + 40);
    for (size_t i = 0; i < rows; i++) {
        const double y = 4.0 + CELL * (double)i;
        char text[24];

        snprintf(text, sizeof text, "%zu", i);
        if (i % 5 == 0)
            draw_label(b, LEFT - 6, y + CELL - 1.5, "t e", text);
        for (size_t k = 0; k < columns; k++)
            if (v[i * columns + k] >= 0.01)
                put(b,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                    "height=\"%d\" class=\"c5\" fill=\"currentColor\" "
                    "opacity=\"%.2f\"/>\n",
                    LEFT + wide * (double)k, y, wide, CELL - 1,
                    fmin(v[i * columns + k], 1.0));
    }
    draw_rule(b, LEFT, bottom, RIGHT, bottom, "axis");
    draw_label(b, (LEFT + RIGHT) / 2, bottom + 18, "m", c->x);
    draw_label(b, 4, bottom + 18, "", c->y);
    buf_adds(b, "</svg>\n</figure>\n");
}
