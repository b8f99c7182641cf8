/* Texts by token: see losses.h */
#include "losses.h"
#include "html.h"
#include "table.h"

#include <math.h>
#include <string.h>

enum { MOST = 20000 }; /* limit of tokens on a page, for browsers' sake */

static const char css[] =
    "body{font:16px/1.7 Georgia,serif;max-width:50em;margin:2em auto;"
    "padding:0 1em;color:#111;background:#fff}\n"
    "h2{font:600 13px sans-serif;color:#555;margin:2em 0 .3em}\n"
    "p.t{white-space:pre-wrap;margin:0}\np.t span{border-radius:2px}\n";

/* The table of a file of losses, and indices of its columns.  base: losses of
 * the base, or NONE; model: losses of the first other model. */
struct losses {
    struct table t;
    size_t document, source, text, base, model, kl;
};

static size_t
column_beginning(const struct table *t, const char *begin, size_t from)
{
    for (size_t i = from; i < t->ncol; i++)
        if (strncmp(t->cell[i], begin, strlen(begin)) == 0)
            return i;
    return NONE;
}

static int
find_columns(struct losses *l, struct err *e)
{
    l->document = table_column(&l->t, "document");
    l->source = table_column(&l->t, "source");
    l->text = table_column(&l->t, "text");
    l->base = column_beginning(&l->t, "nll ", 0);
    l->kl = column_beginning(&l->t, "kl ", 0);
    l->model = l->base;
    if (l->kl != NONE)
        l->model = column_beginning(&l->t, "nll ", l->base + 1);
    else
        l->base = NONE;
    if (l->document == NONE || l->source == NONE || l->text == NONE ||
        l->model == NONE)
        return err_set(e, EX_INPUT,
            "is no folder of a run, and no file that report(1) can show");
    return 0;
}

/* Append a token: red if the model's loss is above the base's, blue if below,
 * in full colour from 4 nats on.  Without a base, red shows the loss, in full
 * colour from 12 nats on. */
static void
put_token(struct buf *b, const struct losses *l, size_t row)
{
    const double loss = table_real(&l->t, row, l->model);
    const double base = l->base == NONE ? 0.0 : table_real(&l->t, row, l->base);
    const double d = isfinite(loss - base) ? loss - base : 0.0;
    const double full = l->base == NONE ? 12.0 : 4.0;
    const char *text = table_cell(&l->t, row, l->text);
    const char *newline = strcmp(text, "\\n") == 0 ? "\n" : "";

    put(b, "<span style=\"background:rgba(%s,%.2f)\" title=\"",
        d > 0.0 ? "220,30,30" : "30,90,220", fmin(fabs(d) / full, 1.0));
    if (l->base != NONE)
        put(b, "%s %s, ", l->t.cell[l->base], table_cell(&l->t, row, l->base));
    put(b, "%s %s", l->t.cell[l->model], table_cell(&l->t, row, l->model));
    if (l->kl != NONE)
        put(b, ", %s %s", l->t.cell[l->kl], table_cell(&l->t, row, l->kl));
    put(b, "\">%s%s</span>", text, newline);
}

static void
put_texts(struct buf *b, const struct losses *l)
{
    const char *last = "";

    for (size_t i = 0; i < l->t.nrow && i < MOST; i++) {
        const char *document = table_cell(&l->t, i, l->document);

        if (strcmp(document, last) != 0)
            put(b, "\n<h2>%s %s</h2>\n<p class=\"t\">",
                table_cell(&l->t, i, l->source), document);
        last = document;
        put_token(b, l, i);
    }
}

int
losses_page(struct buf *b, const char *path, struct err *e)
{
    struct lines file;
    struct losses l = { .base = NONE };
    size_t at = 0;
    int r = lines_read(&file, path, e);

    if (r <= 0)
        return -1;
    if (table_parse(&l.t, &file, &at, e) < 0 || find_columns(&l, e) < 0) {
        table_release(&l.t);
        lines_release(&file);
        return err_prefix(e, "%s", path);
    }
    put(b,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta "
        "charset=\"utf-8\"/>\n<title>%s</title>\n<style>\n",
        path);
    buf_adds(b, css);
    put(b, "</style>\n</head>\n<body>\n<h1>%s</h1>\n<p>", path);
    if (l.base != NONE)
        put(b, "Red: %s is higher than %s; blue: lower; full at 4 nats.",
            l.t.cell[l.model], l.t.cell[l.base]);
    else
        put(b, "The redder, the higher is %s; full at 12 nats.",
            l.t.cell[l.model]);
    if (l.t.nrow > MOST)
        put(b, " The first %d of %zu tokens.", MOST, l.t.nrow);
    buf_adds(b, "</p>\n");
    put_texts(b, &l);
    buf_adds(b, "\n</body>\n</html>\n");
    table_release(&l.t);
    lines_release(&file);
    return 0;
}
