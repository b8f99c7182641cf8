/* Puts an item's fields into a form's texts; see task_fill.h. */
#include "task_fill.h"
#include "base/mem.h"

#include <float.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Write a real as Python's repr does: with the fewest digits that read back as
 * x, and with an exponent if |x| is at least 1e16 or below 1e-4.  For some
 * powers of 2 Python finds a form with one digit less. */
static void
python_real(char *out, size_t size, double x)
{
    int digits = 0;
    long exponent;

    do
        snprintf(out, size, "%.*e", digits, x);
    while (strtod(out, NULL) != x && ++digits < DBL_DECIMAL_DIG);
    exponent = strtol(strchr(out, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 16)
        snprintf(out, size, "%.*f",
            digits > exponent ? digits - (int)exponent : 1, x);
}

/* Append a value as lm-eval's templates print it: numbers, true, false and null
 * as Python does. */
static int
add_python(const json_t *v, struct strings *out, struct err *e)
{
    char number[64];

    if (json_is_string(v)) {
        strings_add(out, json_string_value(v), json_string_length(v));
        return 0;
    }
    if (json_is_integer(v))
        snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
            json_integer_value(v));
    else if (json_is_real(v))
        python_real(number, sizeof(number), json_real_value(v));
    else if (json_is_boolean(v))
        snprintf(number, sizeof(number), "%s",
            json_is_true(v) ? "True" : "False");
    else if (json_is_null(v))
        snprintf(number, sizeof(number), "None");
    else
        return err_set(e, EX_INPUT, "is %s",
            v == NULL ? "missing" : "no text, number or list");
    strings_add(out, number, strlen(number));
    return 0;
}

/* Append the values at `path` below v.  Where the path meets a list, a number
 * selects one element; a name selects that member of every element, and sets
 * *list to 1. */
static int
values_at(const json_t *v, const char *path, struct strings *out, int *list,
    struct err *e)
{
    const size_t n = strcspn(path, ".");
    const char *rest = path[n] == '.' ? path + n + 1 : path + n;
    char *name, *end;
    size_t i;
    int r = 0;

    if (json_is_array(v)) {
        i = (size_t)strtoul(path, &end, 10);
        if (n > 0 && end == path + n)
            return values_at(json_array_get(v, i), rest, out, list, e);
        *list = 1;
        for (i = 0; i < json_array_size(v) && r == 0; i++)
            r = values_at(json_array_get(v, i), path, out, list, e);
        return r;
    }
    if (n == 0)
        return add_python(v, out, e);
    name = xasprintf("%.*s", (int)n, path);
    r = values_at(json_object_get(v, name), rest, out, list, e);
    free(name);
    return r;
}

static int fill_some(const struct form *form, const struct fill *f, size_t nset,
    const json_t *item, struct buf *out, struct err *e);

/* Append the values of the field `part`, filtered.  Only the first nset `set`
 * lines of the form may define it.  *list: 1 if the field is a list. */
static int
part_values(const struct form *form, const struct fill_part *part, size_t nset,
    const json_t *item, struct strings *out, int *list, struct err *e)
{
    int r = 0, made = 0;

    *list = 0;
    for (size_t i = nset; i-- > 0 && !made;)
        if (strcmp(form->set[i].name, part->text) == 0) {
            struct buf b = { 0 };

            made = 1;
            buf_adds(&b, "");
            r = fill_some(form, &form->set[i].fill, i, item, &b, e);
            strings_add(out, b.p, b.n);
            buf_release(&b);
        }
    if (!made && (r = values_at(item, part->text, out, list, e)) < 0)
        err_prefix(e, "field \"%s\"", part->text);
    for (size_t i = 0; i < out->n; i++)
        for (size_t k = 0; k < part->nstep && r == 0; k++)
            if ((r = filter_apply(&part->step[k], form->map, form->nmap,
                     &out->v[i], e)) < 0)
                err_prefix(e, "field \"%s\"", part->text);
    return r;
}

static int
fill_some(const struct form *form, const struct fill *f, size_t nset,
    const json_t *item, struct buf *out, struct err *e)
{
    int r = 0;

    for (size_t i = 0; i < f->n && r == 0; i++) {
        struct strings s = { 0 };
        int list = 0;

        if (!f->part[i].is_field) {
            buf_adds(out, f->part[i].text);
            continue;
        }
        r = part_values(form, &f->part[i], nset, item, &s, &list, e);
        if (r == 0 && list)
            r = err_set(e, EX_INPUT, "field \"%s\" is a list", f->part[i].text);
        if (r == 0)
            buf_adds(out, s.v[0]);
        strings_release(&s);
    }
    return r;
}

int
fill_text(const struct form *form, const struct fill *f, const json_t *item,
    struct buf *out, struct err *e)
{
    buf_adds(out, "");
    return fill_some(form, f, form->nset, item, out, e);
}

int
fill_list(const struct form *form, const struct fill *f, const json_t *item,
    struct strings *out, struct err *e)
{
    struct strings s = { 0 };
    struct buf b = { 0 };
    int r = 0, list = 0;

    if (f->n == 1 && f->part[0].is_field) {
        r = part_values(form, &f->part[0], form->nset, item, &s, &list, e);
        for (size_t i = 0; i < s.n && r == 0; i++)
            strings_add(out, s.v[i], strlen(s.v[i]));
    } else {
        r = fill_text(form, f, item, &b, e);
        if (r == 0)
            strings_add(out, b.p, b.n);
    }
    strings_release(&s);
    buf_release(&b);
    return r;
}
