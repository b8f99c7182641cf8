/* Reports as TSV or JSON; see sheet.h. */
#include "format/sheet.h"
#include "base/text.h"
#include "format/json.h"

#include <assert.h>
#include <math.h>

const char *const format_names[] = { "text", "tsv", "json", NULL };

void
sheet_open(struct sheet *s, struct buf *b, enum format format)
{
    *s = (struct sheet){ .b = b, .format = format };
    if (format == FMT_JSON)
        buf_addc(b, '{');
}

static void
close_list(struct sheet *s)
{
    assert(s->at == 0);
    if (s->column != NULL && s->format == FMT_JSON)
        buf_adds(s->b, s->rows > 0 ? "\n  ]" : "]");
    s->column = NULL;
}

void
sheet_close(struct sheet *s)
{
    close_list(s);
    if (s->format == FMT_JSON)
        buf_adds(s->b, "\n}\n");
}

/* In JSON, append the name of the object's next member. */
static void
add_member(struct sheet *s, const char *name)
{
    buf_adds(s->b, s->members++ > 0 ? ",\n  " : "\n  ");
    js_quote(s->b, name);
    buf_adds(s->b, ": ");
}

void
sheet_fact(struct sheet *s, const char *name, size_t value)
{
    if (s->format != FMT_JSON)
        return;
    add_member(s, name);
    buf_addf(s->b, "%zu", value);
}

void
sheet_list(struct sheet *s, const char *name, const char *const *column)
{
    close_list(s);
    s->column = column;
    s->rows = 0;
    for (s->columns = 0; column[s->columns] != NULL;)
        s->columns++;
    if (s->format == FMT_JSON) {
        add_member(s, name);
        buf_addc(s->b, '[');
        return;
    }
    if (s->lists++ > 0)
        buf_addc(s->b, '\n');
    for (size_t i = 0; i < s->columns; i++)
        buf_addf(s->b, "%s%c", column[i], i + 1 < s->columns ? '\t' : '\n');
}

/* Append what comes before a cell: a tab, or JSON punctuation and a name. */
static void
begin_cell(struct sheet *s)
{
    if (s->format == FMT_TSV) {
        if (s->at > 0)
            buf_addc(s->b, '\t');
        return;
    }
    if (s->at == 0)
        buf_adds(s->b, s->rows > 0 ? ",\n    {" : "\n    {");
    else
        buf_adds(s->b, ", ");
    js_quote(s->b, s->column[s->at]);
    buf_adds(s->b, ": ");
}

static void
end_cell(struct sheet *s)
{
    if (++s->at < s->columns)
        return;
    buf_addc(s->b, s->format == FMT_TSV ? '\n' : '}');
    s->at = 0;
    s->rows++;
}

static void
add_cell(struct sheet *s, const struct sheet_cell *c)
{
    begin_cell(s);
    if (c->text != NULL && s->format == FMT_JSON)
        js_quote(s->b, SHOWN(c->text));
    else if (c->text != NULL)
        buf_adds(s->b, SHOWN(c->text));
    else if (c->fmt == NULL)
        buf_addf(s->b, "%zu", c->n);
    else if (isfinite(c->v))
        buf_addf(s->b, c->fmt, c->v);
    else
        buf_adds(s->b, s->format == FMT_TSV ? "-" : "null");
    end_cell(s);
}

void
sheet_cells(struct sheet *s, size_t n, const struct sheet_cell *cell)
{
    for (size_t i = 0; i < n; i++)
        add_cell(s, &cell[i]);
}
