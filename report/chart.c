/* Charts: see chart.h */
#include "chart.h"
#include "html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

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

/* ---- scales ---- */

enum { TICKS = 10 };

/* A scale from values to positions; empty while lo > hi.  Values beyond an end
 * are drawn at that end. */
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

/* Widen the range by a share of it, or an empty range by a tenth of its value,
 * and choose about n ticks at 1, 2 or 5 times a power of ten. */
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

/* A mark at x, y; series differ in colour and in form. */
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

/* x of entry i in the legend of an image's panel, and its line from the top. */
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

/* Title and legend of an image's panel, above the chart. */
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

/* The grid across from top to bottom, and what is below it. */
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
            if (isfinite(c->s[k].y[i]))
                return 0;
    return 1;
}

/* ---- lines ---- */

/* A path through values v.  Many points are drawn in groups, each as a line
 * from its minimum to its maximum. */
static void
draw_path(struct buf *b, const struct axis *x, const struct axis *y,
    const struct series *s, const double *v, const char *class)
{
    const size_t step = s->n / 500 + 1;
    int pen = 0;

    put(b, "<path class=\"c%zu %s\" d=\"", s->colour % 6, class);
    for (size_t i = 0; i < s->n; i += step) {
        double lo = INFINITY, hi = -INFINITY;

        for (size_t k = i; k < i + step && k < s->n; k++) {
            lo = fmin(lo, v[k]);
            hi = fmax(hi, v[k]);
        }
        if (lo <= hi && isfinite(s->x[i])) {
            put(b, pen ? "L%.1f %.1f" : "M%.1f %.1fh0", axis_at(x, s->x[i]),
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
    for (size_t i = 0; i < s->n; i++)
        if (isfinite(s->x[i]) && isfinite(s->y[i]))
            draw_mark(b, s->colour, axis_at(x, s->x[i]), axis_at(y, s->y[i]));
}

/* The mean of the finite values among the 2 h + 1 around each value. */
static double *
running_mean(const struct series *s, size_t h)
{
    double *mean = xreallocarray(NULL, s->n, sizeof *mean), sum = 0.0;
    size_t n = 0, last = 0; /* summed: up to last */

    for (size_t i = 0; i < s->n; i++) {
        for (; last < s->n && last <= i + h; last++)
            if (isfinite(s->y[last])) {
                sum += s->y[last];
                n++;
            }
        if (i > h && isfinite(s->y[i - h - 1])) {
            sum -= s->y[i - h - 1];
            n--;
        }
        mean[i] = isfinite(s->y[i]) ? sum / (double)n : NAN;
    }
    return mean;
}

void
chart_lines(struct buf *b, const struct chart *c)
{
    struct axis x = { .powers = c->powers,
        .lo = c->plain,
        .hi = !c->plain,
        .from = LEFT,
        .to = RIGHT };
    struct axis y = { .lo = 1, .from = BOTTOM, .to = TOP };
    double **mean;

    if (has_no_value(c))
        return;
    mean = xcalloc(c->ns, sizeof *mean);
    for (size_t k = 0; k < c->ns; k++) {
        const struct series *s = &c->s[k];

        mean[k] = running_mean(s, c->plain ? 0 : s->n / 40);
        for (size_t i = 0; i < s->n; i++) {
            axis_hold(&x, s->x[i]);
            axis_hold(&y, c->tight ? mean[k][i] : s->y[i]);
        }
    }
    draw_head(b, c, BOTTOM + 40);
    axis_ticks(&x, c->plain ? 0.02 : 0.0, 6);
    axis_ticks(&y, c->tight ? 0.2 : 0.04, 5);
    draw_y(b, &y, c->y);
    draw_x(b, &x, TOP, BOTTOM, c->x);
    for (size_t k = 0; k < c->ns; k++)
        if (c->s[k].n >= 40 && !c->plain)
            draw_path(b, &x, &y, &c->s[k], c->s[k].y, "raw");
    for (size_t k = 0; k < c->ns; k++) {
        if (c->s[k].points)
            draw_points(b, &x, &y, &c->s[k]);
        else
            draw_path(b, &x, &y, &c->s[k], mean[k], "line");
        free(mean[k]);
    }
    if (!c->image)
        buf_adds(b, "</svg>\n</figure>\n");
    free(mean);
}

/* ---- rows ---- */

/* The value of row i, with its interval. */
static void
draw_value(struct buf *b, const struct axis *x, const struct series *s,
    size_t i, double y)
{
    if (isfinite(s->low[i]) && isfinite(s->high[i])) {
        put(b, "<g class=\"c%zu\">", s->colour % 6);
        draw_rule(b, axis_at(x, s->low[i]), y, axis_at(x, s->high[i]), y,
            "bar");
        buf_adds(b, "</g>\n");
    }
    if (isfinite(s->y[i]))
        draw_mark(b, s->colour, axis_at(x, s->y[i]), y);
}

void
chart_rows(struct buf *b, const struct chart *c, const char *const *name)
{
    struct axis x = { .to = RIGHT };
    const size_t n = c->ns > 0 ? c->s[0].n : 0;
    const double bottom = TOP / 4.0 + ROW * (double)n;
    char text[FITTED];

    if (has_no_value(c))
        return;
    draw_head(b, c, (int)bottom + 40);
    for (size_t i = 0; i < n; i++) /* a column is about 7 wide */
        x.from = fmax(x.from,
            20.0 + 7.0 * (double)columns(fitted(text, name[i], NAME)));
    for (size_t k = 0; k < c->ns; k++)
        for (size_t i = 0; i < n; i++) {
            axis_hold(&x, c->s[k].y[i]);
            axis_hold(&x, c->s[k].low[i]);
            axis_hold(&x, c->s[k].high[i]);
        }
    axis_ticks(&x, 0.02, 5);
    draw_x(b, &x, TOP / 4.0, bottom, c->x);
    for (size_t i = 0; i < n; i++) {
        const double y = bottom - ROW * ((double)(n - i) - 0.5);

        draw_rule(b, 0, y + ROW / 2.0, W, y + ROW / 2.0, "grid");
        draw_label(b, x.from - 8, y + 4, "e", fitted(text, name[i], NAME));
        /* Marks of series stand side by side, so that none hides another. */
        for (size_t k = 0; k < c->ns; k++)
            draw_value(b, &x, &c->s[k], i,
                y + 10.0 * (((double)k + 0.5) / (double)c->ns - 0.5));
    }
    buf_adds(b, "</svg>\n</figure>\n");
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
