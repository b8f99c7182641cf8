/* Numbers with names: see figures.h */
#include "figures.h"
#include "shipped.h"
#include "format/json.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *const table_formats[] = { "text", "tsv", "json", "bars", NULL };
const char *const figure_formats[] = { "text", "tsv", "json", NULL };

void
figure_add(struct figures *f, const char *name, double v)
{
    assert(f->n < FIGURES);
    f->f[f->n++] = (struct figure){ name, v };
}

const struct figure *
figure_find(const struct figures *f, const char *name)
{
    for (size_t i = 0; i < f->n; i++)
        if (strcmp(f->f[i].name, name) == 0)
            return &f->f[i];
    return NULL;
}

double
figure_of(const struct figures *f, const char *name)
{
    const struct figure *x = figure_find(f, name);

    return x != NULL ? x->v : NAN;
}

double
figure_sum(const struct figures *f, const char *prefix)
{
    double sum = 0.0;

    for (size_t i = 0; i < f->n; i++)
        if (strncmp(f->f[i].name, prefix, strlen(prefix)) == 0)
            sum += f->f[i].v;
    return sum;
}

/* A text about a figure in a part of figures.json: its unit (which 0), its
 * formula (1) or an explanation (2).  NULL: the part has no such text. */
static const char *
figure_word(const struct figure *f, const char *part, size_t which)
{
    const json_t *all = shipped_json("figures.json");

    return json_string_value(
        json_array_get(json_object_get(json_object_get(all, part), f->name),
            which));
}

/* The unit of a figure, from "cluster" in figures.json or else from "run". */
static const char *
figure_unit(const struct figure *f)
{
    const char *unit = figure_word(f, "cluster", 0);

    return unit != NULL ? unit : figure_word(f, "run", 0);
}

const char *
figure_formula(const struct figure *f, const char *part)
{
    return figure_word(f, part, 1);
}

int
figure_exists(const char *name)
{
    const struct figure f = { .name = name };

    return figure_word(&f, "cluster", 0) != NULL;
}

/* Units.  In text a value is multiplied by `scale`, printed by the format
 * `text`, and followed by `shown`.  TSV and JSON use the format `plain`. */
static const struct unit {
    const char *name, *shown;
    double scale;
    const char *text, *plain;
} units[] = {
    { "", "", 1.0, "%.0f", "%.0f" },
    { "bytes", " GB", 1e-9, "%.2f", "%.0f" },
    { "FLOP", " GFLOP", 1e-9, "%.6g", "%.0f" },
    { "s", " s", 1.0, "%.4g", "%.6g" },
    { "share", " %", 100.0, "%.2f", "%.6g" },
    { "tokens/s", " tokens/s", 1.0, "%.1f", "%.6g" },
    { "price", "", 1.0, "%.2f", "%.6g" },
    { NULL, " ", 1.0, "%.5g", "%.6g" },
};

static const struct unit small_bytes = { "bytes", " MB", 1e-6, "%.1f", "%.0f" };

static const struct unit *
unit_of(const struct figure *f)
{
    const char *name = figure_unit(f);
    const struct unit *u = units;

    while (u->name != NULL && strcmp(u->name, name) != 0)
        u++;
    return u;
}

void
figure_text(struct buf *b, const struct figure *f, double v, int columns)
{
    const struct unit *u = unit_of(f);
    char text[400];

    if (strcmp(u->shown, " GB") == 0 && v > 0.0 && v < 1e8)
        u = &small_bytes;
    snprintf(text, sizeof text, isfinite(v) ? u->text : "-", v * u->scale);
    buf_addf(b, "%*s%s%s", columns, text, u->shown,
        u->name == NULL ? figure_unit(f) : "");
}

void
figure_plain(struct buf *b, const struct figure *f, double v)
{
    buf_addf(b, isfinite(v) ? unit_of(f)->plain : "-", v);
}

static void
put_object(struct buf *b, const struct figures *f, const char *part,
    int explain)
{
    for (size_t i = 0; i < f->n; i++) {
        buf_adds(b, i == 0 ? "{\n  " : ",\n  ");
        js_quote(b, f->f[i].name);
        buf_adds(b, explain ? ": { \"value\": " : ": ");
        if (isfinite(f->f[i].v))
            figure_plain(b, &f->f[i], f->f[i].v);
        else
            buf_adds(b, "null");
        if (!explain)
            continue;
        buf_adds(b, ", \"unit\": ");
        js_quote(b, figure_unit(&f->f[i]));
        buf_adds(b, ", \"formula\": ");
        js_quote(b, figure_formula(&f->f[i], part));
        buf_adds(b, " }");
    }
    buf_adds(b, "\n}\n");
}

/* Append a figure as a line of text; explain: with its formula below. */
static void
put_line(struct buf *b, const struct figure *x, const char *part, int explain)
{
    const char *explanation = figure_word(x, part, 2);

    buf_addf(b, "%-26s ", x->name);
    figure_text(b, x, x->v, 15);
    if (explanation != NULL)
        buf_addf(b, "  %s", explanation);
    if (explain)
        buf_addf(b, "\n    = %s", figure_formula(x, part));
}

void
figures_put(struct buf *b, const struct figures *f, int format,
    const char *part, int explain)
{
    if (format == FORMAT_JSON) {
        put_object(b, f, part, explain);
        return;
    }
    for (size_t i = 0; i < f->n; i++) {
        const struct figure *x = &f->f[i];

        if (format == FORMAT_TSV) {
            buf_addf(b, "%s\t", x->name);
            figure_plain(b, x, x->v);
            if (explain)
                buf_addf(b, "\t%s\t%s", figure_unit(x),
                    figure_formula(x, part));
        } else {
            put_line(b, x, part, explain);
        }
        buf_addc(b, '\n');
    }
}
