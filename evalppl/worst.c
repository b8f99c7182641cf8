/* The documents that a model predicts worst; see worst.h. */
#include "worst.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct ranked {
    double v;
    size_t unit;
};

/* Order by value, the highest first; equal ones by place in the stream. */
static int
rank_order(const void *x, const void *y)
{
    const struct ranked *a = x, *b = y;

    if (a->v != b->v)
        return a->v > b->v ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static double
unit_mean(const struct eval *e, size_t unit, size_t i, enum quantity q)
{
    return units_sums(&e->units, unit, i)->v[q] / e->units.unit[unit].weight;
}

/* A column of the report: a quantity for a model. */
struct worst_column {
    char *name; /* quantity and label */
    size_t model;
    enum quantity q;
};

/* List the columns, and return their number:
 * the loss of every model;
 * with a base, the KL of every other model;
 * with a base, except as text, the agreement of every other model. */
static size_t
worst_columns(const struct eval *e, enum format f, struct worst_column *to)
{
    static const struct {
        const char *name;
        enum quantity q;
    } quantity[] = { { "nll", Q_NLL }, { "kl", Q_KL }, { "agree", Q_AGREE } };
    const size_t quantities = e->base == NONE ? 1 : f == FMT_TEXT ? 2 : 3;
    size_t n = 0;

    for (size_t k = 0; k < quantities; k++)
        for (size_t i = 0; i < e->nj; i++)
            if (k == 0 || i != e->base)
                to[n++] =
                    (struct worst_column){ xasprintf("%s %s", quantity[k].name,
                                               SHOWN(e->j[i].label)),
                        i, quantity[k].q };
    return n;
}

static void
list_documents(const struct eval *e, const struct ranked *r, size_t n,
    const struct worst_column *c, size_t nc, struct sheet *s)
{
    const char **name = xcalloc(nc + 5, sizeof(*name));
    char key[24];

    name[0] = "document";
    name[1] = "source";
    name[2] = "tokens";
    for (size_t k = 0; k < nc; k++)
        name[3 + k] = c[k].name;
    name[3 + nc] = "bytes";
    sheet_list(s, "worst", name);
    for (size_t i = 0; i < n; i++) {
        const struct unit *u = &e->units.unit[r[i].unit];

        snprintf(key, sizeof(key), "%016" PRIx64, u->key);
        sheet_row(s, TEXT(key), TEXT(e->info.source[u->source]), COUNT(u->n));
        for (size_t k = 0; k < nc; k++)
            sheet_row(s,
                NUMBER("%.6f", unit_mean(e, r[i].unit, c[k].model, c[k].q)));
        sheet_row(s, NUMBER("%.0f", u->bytes > 0 ? (double)u->bytes : NAN));
    }
    free(name);
}

static void
text_documents(const struct eval *e, const struct ranked *r, size_t n,
    const struct worst_column *c, size_t nc, struct buf *b)
{
    buf_addf(b, "\n%-16s %-12s %8s", "worst documents", "source", "tokens");
    for (size_t k = 0; k < nc; k++)
        buf_addf(b, " %12s", c[k].name);
    buf_addc(b, '\n');
    for (size_t i = 0; i < n; i++) {
        const struct unit *u = &e->units.unit[r[i].unit];

        buf_addf(b, "%016" PRIx64 " %-12s %8zu", u->key,
            SHOWN(e->info.source[u->source]), u->n);
        for (size_t k = 0; k < nc; k++)
            buf_addf(b, " %12.5f", unit_mean(e, r[i].unit, c[k].model, c[k].q));
        buf_addc(b, '\n');
    }
}

void
worst_print(const struct eval *e, size_t most, struct sheet *s)
{
    const enum quantity q = e->base != NONE ? Q_KL : Q_NLL;
    const size_t model = e->base == 0 && e->nj > 1 ? 1 : 0;
    struct ranked *r = xreallocarray(NULL, e->units.n + 1, sizeof(*r));
    struct worst_column *c = xcalloc(3 * e->nj, sizeof(*c));
    const size_t nc = worst_columns(e, s->format, c);
    size_t n = 0;

    for (size_t u = 0; u < e->units.n; u++)
        if (e->units.unit[u].weight > 0.0)
            r[n++] = (struct ranked){ unit_mean(e, u, model, q), u };
    qsort(r, n, sizeof(*r), rank_order);
    n = n < most ? n : most;
    if (s->format == FMT_TEXT)
        text_documents(e, r, n, c, nc, s->b);
    else
        list_documents(e, r, n, c, nc, s);
    for (size_t k = 0; k < nc; k++)
        free(c[k].name);
    free(c);
    free(r);
}
