/* The documents that a model is worst off with; see detail.h. */
#include "detail.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct place {
    double v;
    size_t unit;
};

/* The highest first; of equal ones the first of the stream. */
static int
order(const void *x, const void *y)
{
    const struct place *a = x, *b = y;

    if (a->v != b->v)
        return a->v > b->v ? -1 : 1;
    return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static double
mean_of(const struct eval *e, size_t unit, size_t i, enum quantity q)
{
    return e->sum[unit * e->nj + i].v[q] / e->unit[unit].weight;
}

/* What is told of a document by every model; by the base its loss alone. */
static const struct {
    const char *name;
    enum quantity q;
} column[] = { { "nll", Q_NLL }, { "kl", Q_KL }, { "agree", Q_AGREE } };

static size_t
columns(const struct eval *e, enum format f)
{
    return e->base == NONE ? 1 : f == FMT_TSV ? 3 : 2;
}

static void
line(const struct eval *e, size_t unit, enum format f, struct buf *b)
{
    const struct unit *u = &e->unit[unit];
    const char *number = f == FMT_TSV ? "\t%.6f" : " %12.5f";

    buf_addf(b,
        f == FMT_TSV ? "%016" PRIx64 "\t%s\t%zu" : "%016" PRIx64 " %-12s %8zu",
        u->key, SHOWN(e->info.source[u->source]), u->n);
    for (size_t c = 0; c < columns(e, f); c++)
        for (size_t i = 0; i < e->nj; i++)
            if (c == 0 || i != e->base)
                buf_addf(b, number, mean_of(e, unit, i, column[c].q));
    if (f == FMT_TSV)
        put_cell(b, "%.0f", u->bytes > 0 ? (double)u->bytes : NAN);
    buf_addc(b, '\n');
}

static void
head(const struct eval *e, enum format f, struct buf *b)
{
    buf_addf(b, f == FMT_TSV ? "\n%s\t%s\t%s" : "\n%-16s %-12s %8s",
        f == FMT_TSV ? "document" : "worst documents", "source", "tokens");
    for (size_t c = 0; c < columns(e, f); c++)
        for (size_t i = 0; i < e->nj; i++) {
            char *s = xasprintf("%s %s", column[c].name, SHOWN(e->j[i].label));

            if (c == 0 || i != e->base)
                buf_addf(b, f == FMT_TSV ? "\t%s" : " %12s", s);
            free(s);
        }
    if (f == FMT_TSV)
        buf_adds(b, "\tbytes");
    buf_addc(b, '\n');
}

void
worst_print(const struct eval *e, size_t n, enum format f, struct buf *b)
{
    const enum quantity q = e->base != NONE ? Q_KL : Q_NLL;
    const size_t model = e->base == 0 && e->nj > 1 ? 1 : 0;
    struct place *p = xreallocarray(NULL, e->nunit + 1, sizeof(*p));
    size_t units = 0;

    for (size_t u = 0; u < e->nunit; u++)
        if (e->unit[u].weight > 0.0)
            p[units++] = (struct place){ mean_of(e, u, model, q), u };
    qsort(p, units, sizeof(*p), order);
    head(e, f, b);
    for (size_t i = 0; i < n && i < units; i++)
        line(e, p[i].unit, f, b);
    free(p);
}
