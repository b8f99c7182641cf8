/* Boxes and arrows: see flow.h */
#include "flow.h"
#include "html.h"
#include "image.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum {
    BOX_W = 124,
    BOX_H = 46,
    GAP_X = 22,
    GAP_Y = 34,
    EDGE = 18,
    COLUMNS = 20,
    TIP = 7 /* length of an arrow's head */
};

struct place {
    double x, y; /* the upper left corner of a box */
};

static int
read_box_place(struct place *p, const struct table *t, size_t row,
    struct err *e)
{
    const double c = table_real(t, row, table_column(t, "column"));
    const double r = table_real(t, row, table_column(t, "row"));

    if (!(c >= 0.0 && c < COLUMNS && r >= 0.0 && r < COLUMNS))
        return err_set(e, EX_INPUT,
            "line %zu: write column and row as numbers from 0 to %d",
            t->line + row + 1, COLUMNS - 1);
    p->x = EDGE + c * (BOX_W + GAP_X);
    p->y = EDGE + r * (BOX_H + GAP_Y);
    return 0;
}

static void
draw_box(struct buf *b, const struct table *t, size_t row, struct place p)
{
    put(b,
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" rx=\"6\" "
        "class=\"band\"/>\n"
        "<text x=\"%.1f\" y=\"%.1f\" class=\"m\">%s</text>\n"
        "<text x=\"%.1f\" y=\"%.1f\" class=\"t m\">%s</text>\n",
        p.x, p.y, BOX_W, BOX_H, p.x + BOX_W / 2, p.y + 19.0,
        table_cell(t, row, table_column(t, "name")), p.x + BOX_W / 2,
        p.y + 36.0, table_cell(t, row, table_column(t, "does")));
}

/* Draw an arrow: straight within a row or column, else with turns in the gap
 * before the box that it leads to. */
static void
draw_arrow(struct buf *b, struct place p, struct place q)
{
    const double down = q.y > p.y ? 1.0 : -1.0;
    const double y = q.y + BOX_H / 2;

    buf_adds(b, "<g class=\"c2\">");
    if (p.x == q.x) {
        const double x = p.x + BOX_W / 2, end = down > 0.0 ? q.y : q.y + BOX_H;

        put(b,
            "<path d=\"M%.1f %.1fV%.1f\" class=\"line\"/>"
            "<path d=\"M%.1f %.1fl-4 %.1fh8z\" class=\"dot\"/>",
            x, down > 0.0 ? p.y + BOX_H : p.y, end - down * TIP, x, end,
            -down * TIP);
    } else {
        put(b, "<path d=\"M%.1f %.1f", p.x + BOX_W, p.y + BOX_H / 2);
        if (p.y != q.y)
            put(b, "H%.1fV%.1f", q.x - GAP_X + 6.0, y);
        put(b,
            "H%.1f\" class=\"line\"/>"
            "<path d=\"M%.1f %.1fl-%d -4v8z\" class=\"dot\"/>",
            q.x - TIP, q.x, y, TIP);
    }
    buf_adds(b, "</g>\n");
}

/* Find the row whose name is s[n]; NONE: there is none. */
static size_t
named_row(const struct table *t, const char *s, size_t n)
{
    const size_t name = table_column(t, "name");

    for (size_t i = 0; i < t->nrow; i++)
        if (strlen(table_cell(t, i, name)) == n &&
            memcmp(table_cell(t, i, name), s, n) == 0)
            return i;
    return NONE;
}

static int
draw_arrows(struct buf *b, const struct table *t, const struct place *at,
    size_t row, struct err *e)
{
    const char *to = table_cell(t, row, table_column(t, "to"));

    if (strcmp(to, "-") == 0)
        return 0;
    for (size_t n; n = strcspn(to, ","), n > 0; to += to[n] ? n + 1 : n) {
        const size_t other = named_row(t, to, n);

        if (other == NONE)
            return err_set(e, EX_INPUT, "line %zu: no box is named %.*s",
                t->line + row + 1, (int)n, to);
        draw_arrow(b, at[row], at[other]);
    }
    return 0;
}

static int
draw_flow(struct buf *b, const struct table *t, struct err *e)
{
    struct place *at = xcalloc(t->nrow + 1, sizeof *at);
    struct buf parts = { 0 };
    double w = 0.0, h = 0.0;
    int r = t->nrow > 0 ? 0 : err_set(e, EX_INPUT, "has no box to draw");

    for (size_t i = 0; r == 0 && i < t->nrow; i++)
        if ((r = read_box_place(&at[i], t, i, e)) == 0) {
            w = at[i].x > w ? at[i].x : w;
            h = at[i].y > h ? at[i].y : h;
            draw_box(&parts, t, i, at[i]);
        }
    for (size_t i = 0; r == 0 && i < t->nrow; i++)
        r = draw_arrows(&parts, t, at, i, e);
    if (r == 0) {
        image_begin(b, w + BOX_W + EDGE, h + BOX_H + EDGE);
        buf_add(b, parts.p, parts.n);
        buf_adds(b, "</svg>\n");
    }
    buf_release(&parts);
    free(at);
    return r;
}

int
flow_image(struct buf *b, const char *path, struct err *e)
{
    return table_image(b, path, "column row name does to", 0, draw_flow, e);
}
