/* Drawing lines by characters; see plot.h. */
#include "plot.h"
#include "base/median.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 10 }; /* columns of the left margin, axis included */

void
plot_line(struct plot *p, const double *x, const double *y, size_t n,
    char letter)
{
    assert(p->n < PLOT_LINES);
    p->line[p->n].x = x;
    p->line[p->n].y = y;
    p->line[p->n].n = n;
    p->line[p->n++].letter = letter;
}

struct range {
    double low, high;
};

static void
widen(struct range *r, double v)
{
    if (!isfinite(v))
        return;
    r->low = fmin(r->low, v);
    r->high = fmax(r->high, v);
}

/* Set out [width] to the medians of line k in columns of equal width; NAN: a
 * column has no value. */
static void
column_medians(const struct plot *p, size_t k, const struct range *x,
    size_t width, double *out)
{
    const size_t n = p->line[k].n;
    double *v = xreallocarray(NULL, n + 1, sizeof *v);
    size_t i = 0;

    for (size_t c = 0; c < width; c++) {
        const double end =
            x->low + (x->high - x->low) * (double)(c + 1) / (double)width;
        size_t m = 0;

        for (; i < n && (p->line[k].x[i] < end || c + 1 == width); i++)
            if (isfinite(p->line[k].y[i]))
                v[m++] = p->line[k].y[i];
        out[c] = median(v, m);
    }
    free(v);
}

/* Write `letter` into each column of the grid [rows,width], at the column's
 * value in value [width]. */
static void
place_letters(char *grid, size_t rows, size_t width, const struct range *y,
    const double *value, char letter)
{
    for (size_t c = 0; c < width; c++) {
        const double share = (y->high - value[c]) / (y->high - y->low);
        char *at;

        if (!isfinite(value[c]))
            continue;
        at = grid +
            (size_t)lround(
                (isfinite(share) ? share : 0.5) * (double)(rows - 1)) *
                width +
            c;
        *at = *at == ' ' || *at == letter ? letter : '*';
    }
}

static void
add_grid(struct buf *b, const char *grid, size_t rows, size_t width,
    const struct range *y)
{
    for (size_t r = 0; r < rows; r++) {
        size_t n = width;

        while (n > 0 && grid[r * width + n - 1] == ' ')
            n--;
        if (r == 0 || r + 1 == rows)
            buf_addf(b, "%*.4g |", MARGIN - 2, r == 0 ? y->high : y->low);
        else
            buf_addf(b, "%*s|", MARGIN - 1, "");
        buf_add(b, grid + r * width, n);
        buf_addc(b, '\n');
    }
}

void
plot_draw(struct buf *b, const struct plot *p, const char *title)
{
    const size_t width = p->columns > MARGIN + 10 ? p->columns - MARGIN : 10;
    const size_t rows = p->rows > 4 ? p->rows - 2 : 2;
    double *value = xreallocarray(NULL, p->n * width + 1, sizeof *value);
    char *grid = xmalloc(rows * width);
    struct range x = { INFINITY, -INFINITY }, y = { INFINITY, -INFINITY };

    memset(grid, ' ', rows * width);
    for (size_t k = 0; k < p->n; k++)
        for (size_t i = 0; i < p->line[k].n; i++)
            widen(&x, p->line[k].x[i]);
    for (size_t k = 0; k < p->n; k++) {
        column_medians(p, k, &x, width, value + k * width);
        for (size_t c = 0; c < width; c++)
            widen(&y, value[k * width + c]);
    }
    for (size_t k = 0; k < p->n; k++)
        place_letters(grid, rows, width, &y, value + k * width,
            p->line[k].letter);
    if (y.low <= y.high) {
        buf_addf(b, "%s\n", title);
        add_grid(b, grid, rows, width, &y);
        buf_addf(b, "%*s%-*.0f%.0f\n", MARGIN, "", (int)width - 8, x.low,
            x.high);
    }
    free(value);
    free(grid);
}
