/* Lines and tables: see table.h */
#include "table.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { LONGEST = 256 << 20, COLUMNS = 500 };

int
lines_read(struct lines *l, const char *path, struct err *e)
{
    struct stat st;
    size_t n = 0;

    memset(l, 0, sizeof *l);
    if (stat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR
            ? 0
            : err_set(e, EX_SYS, "%s:", path);
    if (!S_ISREG(st.st_mode))
        return err_set(e, EX_INPUT, "%s: is not a regular file", path);
    if (io_slurp(path, LONGEST, &l->text, &n, e) < 0)
        return -1;
    if (memchr(l->text, '\0', n) != NULL) {
        lines_release(l);
        return err_set(e, EX_INPUT, "%s: is not text: it holds a NUL byte",
            path);
    }
    for (char *p = l->text; *p != '\0';) {
        const size_t len = strcspn(p, "\n");

        l->line = xgrow_pow2(l->line, l->n, sizeof *l->line);
        l->line[l->n++] = p;
        l->torn = p[len] == '\0';
        if (len > 0 && p[len - 1] == '\r')
            p[len - 1] = '\0';
        p += len;
        if (*p != '\0')
            *p++ = '\0';
    }
    return 1;
}

void
lines_whole(struct lines *l)
{
    l->n -= l->n > 1 && l->torn;
}

void
lines_release(struct lines *l)
{
    free(l->text);
    free(l->line);
    memset(l, 0, sizeof *l);
}

/* Cut a line at its tabs into cell [max]; NULL: leave it whole.  Returns the
 * number of fields. */
static size_t
fields(char *line, char **cell, size_t max)
{
    size_t n = 0;

    for (char *p = line;; p++) {
        if (cell != NULL && n < max)
            cell[n] = p;
        n++;
        p += strcspn(p, "\t");
        if (*p == '\0')
            return n;
        if (cell != NULL)
            *p = '\0';
    }
}

int
table_parse(struct table *t, struct lines *l, size_t *at, struct err *e)
{
    size_t end = *at;

    memset(t, 0, sizeof *t);
    while (end < l->n && *l->line[end] != '\0')
        end++;
    if (end == *at)
        return err_set(e, EX_INPUT, "line %zu: has no header of a table",
            end + 1);
    t->ncol = fields(l->line[*at], NULL, 0);
    if (t->ncol > COLUMNS)
        return err_set(e, EX_INPUT, "line %zu: has more than %d columns",
            *at + 1, COLUMNS);
    for (size_t i = *at; i < end; i++)
        if (fields(l->line[i], NULL, 0) != t->ncol)
            return err_set(e, EX_INPUT,
                "line %zu: has %zu fields, not %zu as the header", i + 1,
                fields(l->line[i], NULL, 0), t->ncol);
    t->nrow = end - *at - 1;
    t->line = *at + 1;
    t->cell = xreallocarray(NULL, (t->nrow + 1) * t->ncol, sizeof *t->cell);
    for (size_t i = 0; i <= t->nrow; i++)
        fields(l->line[*at + i], t->cell + i * t->ncol, t->ncol);
    *at = end;
    return 0;
}

void
table_release(struct table *t)
{
    free(t->cell);
    memset(t, 0, sizeof *t);
}

size_t
table_column(const struct table *t, const char *name)
{
    for (size_t i = 0; i < t->ncol; i++)
        if (strcmp(t->cell[i], name) == 0)
            return i;
    return NONE;
}

const char *
table_cell(const struct table *t, size_t row, size_t column)
{
    return row < t->nrow && column < t->ncol
        ? t->cell[(row + 1) * t->ncol + column]
        : "-";
}

/* Parse a number into *v; NAN for "-", "" and numbers beyond 1e30.  Returns 0,
 * or -1 if s is something else. */
static int
real(const char *s, double *v)
{
    char *end;

    *v = NAN;
    if (*s == '\0' || strcmp(s, "-") == 0)
        return 0;
    *v = strtod(s, &end);
    if (!(fabs(*v) <= 1e30))
        *v = NAN;
    return *end == '\0' ? 0 : -1;
}

double
table_real(const struct table *t, size_t row, size_t column)
{
    double v;

    return real(table_cell(t, row, column), &v) == 0 ? v : NAN;
}

int
table_need(const struct table *t, const char *names, int numbers, struct err *e)
{
    char name[64];
    double v;

    for (size_t n; n = strcspn(names, " "), n > 0;
         names += names[n] == ' ' ? n + 1 : n) {
        size_t c;

        memcpy(name, names, n);
        name[n] = '\0';
        c = table_column(t, name);
        if (c == NONE)
            return err_set(e, EX_INPUT, "its header has no column %s", name);
        for (size_t i = 0; numbers && i < t->nrow; i++)
            if (real(table_cell(t, i, c), &v) < 0)
                return err_set(e, EX_INPUT, "line %zu: %s is not a number",
                    t->line + i + 1, name);
    }
    return 0;
}

int
table_image(struct buf *b, const char *path, const char *names, int numbers,
    int (*draw)(struct buf *b, const struct table *t, struct err *e),
    struct err *e)
{
    struct lines l;
    struct table t = { 0 };
    size_t at = 0;
    int r = lines_read(&l, path, e);

    if (r <= 0)
        return -1;
    r = table_parse(&t, &l, &at, e);
    if (r == 0)
        r = table_need(&t, names, numbers, e);
    if (r == 0)
        r = draw(b, &t, e);
    table_release(&t);
    lines_release(&l);
    return r < 0 ? err_prefix(e, "%s", path) : 0;
}
