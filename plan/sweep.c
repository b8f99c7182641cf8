/* Sweeps and what-ifs: see sweep.h */
#include "sweep.h"
#include "predict.h"
#include "table.h"
#include "base/note.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/die.h"

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
static void
add_doubled(struct range *r, const char *value)
{
    char *from = xasprintf("%.*s", (int)(strstr(value, "..") - value), value);
    double a, b;

    if (number_real(from, 1.0, 1e18, &a) < 0 ||
        number_real(strstr(value, "..") + 2, a, 1e18, &b) < 0)
        die(EX_USAGE, "%s=%s: give numbers a..b with a >= 1 and b >= a",
            r->key->name, SHOWN(value));
    free(from);
    for (; a <= b; a *= 2.0)
        range_add(r, xasprintf("%.15g", a));
}

/* Read key=VALUES. */
static void
range_read(struct range *r, const char *operand)
{
    const char *equals = strchr(operand, '='), *p;
    struct err e;
    char *name;

    if (equals == NULL)
        die(EX_USAGE, "%s: write key=value", SHOWN(operand));
    name = xasprintf("%.*s", (int)(equals - operand), operand);
    if ((r->key = job_key_given(name, &e)) == NULL)
        die_err(&e);
    free(name);
    if (strstr(equals, "..") != NULL) {
        add_doubled(r, equals + 1);
        return;
    }
    p = equals + 1;
    do
        range_add(r, next_item(&p));
    while (*p != '\0');
}

void
ranges_read(struct ranges *r, char **operand, size_t n)
{
    *r = (struct ranges){ xcalloc(n, sizeof *r->v), n };
    for (size_t i = 0; i < n; i++)
        range_read(&r->v[i], operand[i]);
}

void
ranges_free(struct ranges *r)
{
    for (size_t i = 0; i < r->n; i++) {
        for (size_t k = 0; k < r->v[i].n; k++)
            free(r->v[i].value[k]);
        free(r->v[i].value);
    }
    free(r->v);
}

/* Set a key of *j. */
static void
set_key(struct job *j, const char *name, const char *value)
{
    struct err e;

    if (job_set(j, name, value, &e) < 0)
        die_err(&e);
}

void
ranges_set(struct job *j, const struct ranges *r, size_t n, size_t which)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].n == n)
            set_key(j, r->v[i].key->name, r->v[i].value[which]);
}

const struct key *
ranges_swept(const struct ranges *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].n > 1)
            return r->v[i].key;
    return NULL;
}

/* ---- sweeps ---- */

static const char usual[] =
    "ranks,memory,full,step,speed,speed.rank,efficiency,mfu,hfu,bubble,exposed";

/* Set `at` to the next combination; 0: there is none. */
static int
next_combination(size_t *at, const struct ranges *r)
{
    for (size_t i = r->n; i-- > 0;) {
        if (++at[i] < r->v[i].n)
            return 1;
        at[i] = 0;
    }
    return 0;
}

void
sweep_columns(struct table *t, const char *columns, const struct figures *f,
    int format)
{
    struct buf b = { 0 };

    for (char *name; (name = next_item(&columns)) != NULL; free(name)) {
        const struct figure *x = f != NULL ? figure_find(f, name) : NULL;

        if (f != NULL && x == NULL && !figure_exists(name))
            die(EX_USAGE,
                "--columns: there is no figure %s; see plan cluster --explain",
                SHOWN(name));
        if (x != NULL && format == FORMAT_TEXT)
            figure_text(&b, x, x->v, 0);
        else if (x != NULL)
            figure_plain(&b, x, x->v);
        else if (f != NULL)
            buf_addc(&b, '-');
        else
            buf_adds(&b, name);
        table_add_buf(t, &b);
    }
    buf_release(&b);
}

/* Add the row of the combination `at`, unless it cannot be laid out.  *first:
 * speed.rank of the first row, which sets it. */
static void
sweep_one(struct table *t, struct job j, const struct ranges *r,
    const size_t *at, const char *columns, int format, double *first)
{
    struct figures f;
    struct buf b = { 0 };
    struct err why;

    for (size_t i = 0; i < r->n; i++) {
        const struct range *one = &r->v[i];

        set_key(&j, one->key->name, one->value[at[i]]);
        if (one->n > 1)
            buf_addf(&b, "%s=%s ", one->key->name, one->value[at[i]]);
    }
    if (job_check(&j, &why) < 0) {
        note("%sis left out: %s", b.n > 0 ? b.p : "", why.msg);
        buf_release(&b);
        return;
    }
    buf_release(&b);
    predict(&f, &j);
    if (!(*first > 0.0))
        *first = figure_of(&f, "speed.rank");
    figure_add(&f, "efficiency", figure_of(&f, "speed.rank") / *first);
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].n > 1)
            table_add(t, r->v[i].value[at[i]]);
    sweep_columns(t, columns, &f, format);
}

void
sweep_put(struct buf *b, const struct job *j, const struct ranges *r,
    const char *columns, int format)
{
    size_t *at = xcalloc(r->n, sizeof *at);
    struct table t = { 0 };
    double first = 0.0;

    columns = columns != NULL ? columns : usual;
    for (size_t i = 0; i < r->n; i++)
        if (r->v[i].n > 1)
            table_add(&t, r->v[i].key->name);
    sweep_columns(&t, columns, NULL, format);
    t.ncol = t.n;
    do
        sweep_one(&t, *j, r, at, columns, format, &first);
    while (next_combination(at, r));
    table_put(b, &t, format);
    table_release(&t);
    free(at);
}

/* ---- what if ---- */

void
job_change(struct job *j, const char *option, const char *change)
{
    const char *p = change;
    struct err e;

    for (char *one; (one = next_item(&p)) != NULL; free(one)) {
        char *equals = strchr(one, '=');

        if (equals == NULL)
            die(EX_USAGE, "%s %s: write key=value,...", option, SHOWN(change));
        *equals = '\0';
        set_key(j, one, equals + 1);
    }
    if (job_check(j, &e) < 0)
        die_err(&e);
}

void
what_if_put(struct buf *b, const struct job *j, char **change, size_t n,
    int format)
{
    struct figures f, *other = xcalloc(n, sizeof *other);
    struct table t = { 0 };
    struct buf head = { 0 };

    predict(&f, j);
    table_add(&t, "figure");
    table_add(&t, "as given");
    for (size_t i = 0; i < n; i++) {
        struct job k = *j;

        job_change(&k, "--what-if", change[i]);
        predict(&other[i], &k);
        table_add(&t, change[i]);
        if (format != FORMAT_TEXT)
            buf_addf(&head, "%s ", change[i]);
        buf_adds(&head, "ratio");
        table_add_buf(&t, &head);
    }
    t.ncol = t.n;
    for (size_t k = 0; k < f.n; k++)
        table_add_figure(&t, &f.f[k], other, n, format);
    table_put(b, &t, format);
    table_release(&t);
    buf_release(&head);
    free(other);
}
