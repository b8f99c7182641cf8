/* Tables: see grid.h */
#include "grid.h"
#include "html.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 16, LINE = 80 };

void
grid_init(struct grid *g, const char *id, const char *caption,
    const char *heads)
{
    memset(g, 0, sizeof *g);
    g->id = id;
    g->caption = caption;
    for (const char *p = heads;; p++) {
        const size_t n = strcspn(p, "|");
        char *head = xasprintf("%.*s", (int)n, p);

        grid_text(g, head);
        free(head);
        g->ncol++;
        p += n;
        if (*p == '\0')
            return;
    }
}

void
grid_text(struct grid *g, const char *text)
{
    g->cell = xgrow_pow2(g->cell, g->ncell, sizeof *g->cell);
    g->cell[g->ncell++] = xstrdup(text);
}

void
grid_number(struct grid *g, const char *fmt, double v)
{
    char text[400];

    snprintf(text, sizeof text, isfinite(v) ? fmt : "-", v);
    grid_text(g, text);
}

void
grid_release(struct grid *g)
{
    for (size_t i = 0; i < g->ncell; i++)
        free(g->cell[i]);
    free(g->cell);
}

void
grid_page(struct buf *b, const struct grid *g)
{
    if (g->ncell <= g->ncol)
        return;
    /* The caption is outside the scrolling box, so it stays in view. */
    put(b,
        "<p class=\"caption\" id=\"%s-is\">%s</p>\n"
        "<div class=\"scroll\" tabindex=\"0\"><table "
        "id=\"%s\" aria-labelledby=\"%s-is\">\n",
        g->id, g->caption, g->id, g->id);
    for (size_t i = 0; i < g->ncell; i++) {
        const int name = i % g->ncol == 0;

        if (name)
            buf_adds(b, i == 0 ? "<thead><tr>" : "<tr>");
        put(b,
            i < g->ncol ? "<th scope=\"col\">%s</th>"
                : name  ? "<th scope=\"row\">%s</th>"
                        : "<td>%s</td>",
            g->cell[i]);
        if ((i + 1) % g->ncol == 0)
            buf_adds(b, i < g->ncol ? "</tr></thead>\n<tbody>\n" : "</tr>\n");
    }
    buf_adds(b, "</tbody></table></div>\n");
}

void
grid_terminal(struct buf *b, const struct grid *g)
{
    size_t *width = xcalloc(g->ncol, sizeof *width), used = 0;
    char text[FITTED];

    for (size_t i = 0; i < g->ncell; i++) {
        const size_t n = columns(fitted(text, g->cell[i], WIDEST));

        width[i % g->ncol] = n > width[i % g->ncol] ? n : width[i % g->ncol];
    }
    for (size_t i = 0; i < g->ncell && g->ncell > g->ncol; i++) {
        const size_t w = width[i % g->ncol];
        const int gap = (int)(w - columns(fitted(text, g->cell[i], WIDEST)));

        if (i % g->ncol == 0) {
            buf_addf(b, "%s%*s", text, gap, "");
            used = w;
        } else {
            used += 1 + w; /* once beyond LINE, used stays beyond it */
            if (used <= LINE)
                buf_addf(b, " %*s%s", gap, "", text);
        }
        if ((i + 1) % g->ncol == 0)
            buf_addc(b, '\n');
    }
    free(width);
}
