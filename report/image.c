/* Images of charts: see image.h */
#include "image.h"
#include "html.h"
#include "style.h"

enum { PANEL_W = 440, PANEL_H = 300, CHART_H = 260 };

void
image_begin(struct buf *b, double width, double height)
{
    put(b,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "viewBox=\"0 0 %.0f %.0f\">\n<style>\n",
        width, height);
    buf_adds(b, style);
    buf_adds(b, "</style>\n");
}

void
image_add(struct image *m, struct chart *c)
{
    const size_t start = m->panels.n;
    size_t empty;

    c->image = c->plain = 1;
    if (m->n == 0)
        m->height = PANEL_H + CHART_LINE * (chart_legend_lines(c) - 1);
    put(&m->panels, "<g transform=\"translate(%zu,%zu)\">\n",
        m->n % 2 * PANEL_W, (m->n / 2 + 1) * m->height - CHART_H);
    empty = m->panels.n;
    chart_lines(&m->panels, c);
    if (m->panels.n == empty) {
        m->panels.n = start;
        return;
    }
    buf_adds(&m->panels, "</g>\n");
    m->n++;
}

void
image_put(struct buf *b, struct image *m)
{
    image_begin(b, 2.0 * PANEL_W, (double)((m->n + 1) / 2 * m->height));
    buf_add(b, m->panels.p, m->panels.n);
    buf_adds(b, "</svg>\n");
    buf_release(&m->panels);
}
