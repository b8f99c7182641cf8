/* Sweeps and what-ifs: see sweep.h */
#include "sweep.h"
#include "predict.h"
#include "table.h"
#include "base/note.h"
#include "base/number.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Copy the next comma-separated item, which the caller frees; NULL: the end. */
static char *
next_item(const char **list)
{
    const size_t n = strcspn(*list, ",");
    char *item = **list != '\0' ? xasprintf("%.*s", (int)n, *list) : NULL;

    *list += n + ((*list)[n] == ',');
    return item;
}

/* ---- ranges ---- */

/* Add a value, which the range takes over; NULL means "". */
static void
range_add(struct range *r, char *value)
{
    r->value = xgrow_pow2(r->value, r->n, sizeof *r->value);
    r->value[r->n++] = value != NULL ? value : xstrdup("");
}

/* Add the values of a..b: a, 2 a, 4 a and so on up to b. */
static int
add_doubled(struct range *r, const char *value, struct err *e)
{
    char *from = xasprintf("%.*s", (int)(strstr(value, "..") - value), value);
    double a, b;
    int bad = number_real(from, 1.0, 1e18, &a) < 0 ||
        number_real(strstr(value, "..") + 2, a, 1e18, &b) < 0;

    free(from);
    if (bad)
        return err_set(e, EX_USAGE,
            "%s=%s: give numbers a..b with a >= 1 and b >= a", r->key->name,
            SHOWN(value));
    for (; a <= b; a *= 2.0)
        range_add(r, xasprintf("%.15g", a));
    return 0;
}

/* Read key=VALUES. */
static int
range_read(struct range *r, const char *operand, struct err *e)
{
    const char *equals = strchr(operand, '='), *p;
    char *name;

    if (equals == NULL)
        return err_set(e, EX_USAGE, "%s: write key=value", SHOWN(operand));
    name = xasprintf("%.*s", (int)(equals - operand), operand);
    if ((r->key = job_key(name)) == NULL)
        err_set(e, EX_USAGE,
            "%s: there is no such key; see plan cluster --keys", SHOWN(name));
    free(name);
    if (r->key == NULL)
        return -1;
    if (strstr(equals, "..") != NULL)
        return add_doubled(r, equals + 1, e);
    p = equals + 1;
    do
        range_add(r, next_item(&p));
    while (*p != '\0');
    return 0;
}

int
ranges_read(struct range *range, char **operand, size_t n, struct err *e)
{
    memset(range, 0, n * sizeof *range);
    for (size_t i = 0; i < n; i++)
        if (range_read(&range[i], operand[i], e) < 0)
            return -1;
    return 0;
}

void
ranges_free(struct range *range, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < range[i].n; k++)
            free(range[i].value[k]);
        free(range[i].value);
    }
}

int
ranges_set(struct job *j, const struct range *range, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++)
        if (range[i].n == 1 &&
            job_set(j, range[i].key->name, range[i].value[0], e) < 0)
            return -1;
    return 0;
}

const struct range *
ranges_first(const struct range *range, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (range[i].n > 1)
            return &range[i];
    return NULL;
}

/* ---- sweeps ---- */

static const char usual[] =
    "ranks,memory,full,step,speed,speed.rank,efficiency,mfu,hfu,bubble,exposed";

/* Set `at` to the next combination; 0: there is none. */
static int
next_combination(size_t *at, const struct range *range, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        if (++at[i] < range[i].n)
            return 1;
        at[i] = 0;
    }
    return 0;
}

/* Add a cell for each column: its figure; f NULL: its name. */
static int
add_columns(struct table *t, const char *columns, const struct figures *f,
    struct err *e)
{
    struct buf b = { 0 };
    int r = 0;

    for (char *name; r == 0 && (name = next_item(&columns)) != NULL;
         free(name)) {
        const struct figure *x = f != NULL ? figure_find(f, name) : NULL;

        if (f != NULL && x == NULL)
            r = err_set(e, EX_USAGE,
                "--columns: there is no figure %s; see plan cluster --explain",
                SHOWN(name));
        else if (x != NULL)
            figure_plain(&b, x, x->v);
        else
            buf_adds(&b, name);
        if (r == 0)
            table_add_buf(t, &b);
    }
    buf_release(&b);
    return r;
}

/* Add the row of the combination `at`.  *first: speed.rank of the first row,
 * which sets it.  Returns 1; 0 if it cannot be laid out; -1 and *e. */
static int
sweep_one(struct table *t, struct job j, const struct range *range, size_t n,
    const size_t *at, const char *columns, double *first, struct err *e)
{
    struct figures f;
    struct buf b = { 0 };
    struct err why;

    for (size_t i = 0; i < n; i++)
        if (job_set(&j, range[i].key->name, range[i].value[at[i]], e) < 0)
            return -1;
    if (job_check(&j, &why) < 0) {
        for (size_t i = 0; i < n; i++)
            if (range[i].n > 1)
                buf_addf(&b, "%s=%s ", range[i].key->name,
                    range[i].value[at[i]]);
        note("%sis left out: %s", b.n > 0 ? b.p : "", why.msg);
        buf_release(&b);
        return 0;
    }
    predict(&f, &j);
    if (!(*first > 0.0))
        *first = figure_of(&f, "speed.rank");
    figure_add(&f, "efficiency", figure_of(&f, "speed.rank") / *first);
    for (size_t i = 0; i < n; i++)
        if (range[i].n > 1)
            table_add(t, range[i].value[at[i]]);
    return add_columns(t, columns, &f, e) < 0 ? -1 : 1;
}

int
sweep_put(struct buf *b, const struct job *j, const struct range *range,
    size_t n, const char *columns, int format, struct err *e)
{
    size_t *at = xcalloc(n, sizeof *at);
    struct table t = { 0 };
    double first = 0.0;
    int r = 0;

    columns = columns != NULL ? columns : usual;
    for (size_t i = 0; i < n; i++)
        if (range[i].n > 1)
            table_add(&t, range[i].key->name);
    add_columns(&t, columns, NULL, e);
    t.ncol = t.n;
    do
        r = sweep_one(&t, *j, range, n, at, columns, &first, e);
    while (r >= 0 && next_combination(at, range, n));
    if (r >= 0)
        table_put(b, &t, format);
    table_release(&t);
    free(at);
    return r < 0 ? -1 : 0;
}

/* ---- what if ---- */

int
job_change(struct job *j, const char *option, const char *change, struct err *e)
{
    const char *p = change;
    int r = 0;

    for (char *one; r == 0 && (one = next_item(&p)) != NULL; free(one)) {
        char *equals = strchr(one, '=');

        if (equals == NULL) {
            r = err_set(e, EX_USAGE, "%s %s: write key=value,...", option,
                SHOWN(change));
        } else {
            *equals = '\0';
            r = job_set(j, one, equals + 1, e);
        }
    }
    return r < 0 ? -1 : job_check(j, e);
}

int
what_if_put(struct buf *b, const struct job *j, char **change, size_t n,
    int format, struct err *e)
{
    struct figures f, *other = xcalloc(n, sizeof *other);
    struct table t = { 0 };
    struct buf head = { 0 };
    int r = 0;

    predict(&f, j);
    table_add(&t, "figure");
    table_add(&t, "as given");
    for (size_t i = 0; i < n && r == 0; i++) {
        struct job k = *j;

        if ((r = job_change(&k, "--what-if", change[i], e)) < 0)
            break;
        predict(&other[i], &k);
        table_add(&t, change[i]);
        if (format != FORMAT_TEXT)
            buf_addf(&head, "%s ", change[i]);
        buf_adds(&head, "ratio");
        table_add_buf(&t, &head);
    }
    t.ncol = t.n;
    for (size_t k = 0; k < f.n && r == 0; k++)
        table_add_figure(&t, &f.f[k], other, n, format);
    if (r == 0)
        table_put(b, &t, format);
    table_release(&t);
    buf_release(&head);
    free(other);
    return r;
}
