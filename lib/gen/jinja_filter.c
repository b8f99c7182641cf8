/* Filters and tests; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The filter tojson(ensure_ascii, indent, separators, sort_keys). */
static int
filter_json(struct jrun *r, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    struct jjson how = { .indent = SIZE_MAX };
    const size_t from = jrun_begin(r);

    how.ascii = slot[0] != NULL && jval_true(slot[0]);
    how.sort = slot[3] != NULL && jval_true(slot[3]);
    if (slot[2] != NULL && slot[2]->kind != J_NONE)
        return jrun_fail(r, "tojson with separators is not known here");
    if (slot[1] != NULL && slot[1]->kind != J_NONE) {
        if (slot[1]->kind != J_INT || slot[1]->i < 0 || slot[1]->i > 16)
            return jrun_fail(r, "tojson takes an indent from 0 to 16 here");
        how.indent = (size_t)slot[1]->i;
    }
    return jrun_json(r, v, &how) < 0 ? -1 : jrun_end(r, from, out);
}

static int
filter_length(struct jrun *r, const struct jval *v, struct jval *out)
{
    switch (v->kind) {
    case J_UNDEFINED: *out = jval_int(0); return 0;
    case J_TEXT:
        if (jrun_bytes(r, v->t.n) < 0)
            return -1;
        *out = jval_int((int64_t)jtext_length(v->t));
        return 0;
    case J_LIST:
    case J_TUPLE: *out = jval_int((int64_t)v->list.n); return 0;
    case J_DICT: *out = jval_int((int64_t)v->dict->n); return 0;
    default: return jrun_fail(r, "%s has no length", jval_kind(v));
    }
}

int
jrun_attribute(struct jrun *r, const struct jval *v, const struct jval *path,
    struct jval *out)
{
    struct jtext rest;

    *out = *v;
    if (path->kind == J_INT)
        return jrun_item(r, v, path, out);
    if (path->kind != J_TEXT)
        return jrun_fail(r, "an attribute's name is %s", jval_kind(path));
    rest = path->t;
    if (jrun_bytes(r, rest.n) < 0)
        return -1;
    for (size_t n = 0; n <= rest.n; n++) {
        const struct jval whole = *out;
        struct jval part = jval_text(rest.p, n);
        char digits[20] = "";

        if (n < rest.n && rest.p[n] != '.')
            continue;
        if (n > 0 && n < sizeof digits - 1) {
            memcpy(digits, rest.p, n);
            if (strspn(digits, "0123456789") == n)
                part = jval_int(strtoll(digits, NULL, 10));
        }
        if (jrun_item(r, &whole, &part, out) < 0)
            return -1;
        if (n == rest.n)
            break;
        rest = (struct jtext){ rest.p + n + 1, rest.n - n - 1 };
        n = SIZE_MAX;
    }
    return 0;
}

/* Set *is: does v pass the test that `name` names?  name NULL: is v true? */
static int
passes_test(struct jrun *r, const struct jval *v, const struct jval *name,
    const struct jval *arg, int *is)
{
    const struct jname *row = NULL;

    if (name == NULL) {
        *is = jval_true(v);
        return 0;
    }
    if (jrun_work(r, 8) < 0)
        return -1;
    if (name->kind == J_TEXT)
        row = jname_find(jinja_tests, name->t);
    if (row == NULL || (row->least == 1) != (arg != NULL))
        return jrun_fail(r, "the test \"%.*s\" is not known here",
            name->kind == J_TEXT ? jtext_shown(name->t) : 0,
            name->kind == J_TEXT ? name->t.p : "");
    return jrun_test(r, row, v, arg, is);
}

/* selectattr, rejectattr, select, reject */
static int
filter_select(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    const int attr = id == JF_SELECTATTR || id == JF_REJECTATTR;
    const int keeps = id == JF_SELECTATTR || id == JF_SELECT;
    struct jlist all;

    *out = (struct jval){ .kind = J_LIST };
    if (!jval_true(v)) /* none and 0 too */
        return 0;
    if (jrun_elements(r, v, &all) < 0 || jrun_room(r, all.n, &out->list) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct jval m = all.v[i];
        int is;

        if ((attr && jrun_attribute(r, &all.v[i], slot[0], &m) < 0) ||
            passes_test(r, &m, slot[attr], slot[attr + 1], &is) < 0)
            return -1;
        if (is == keeps)
            out->list.v[out->list.n++] = all.v[i];
    }
    return 0;
}

static int
filter_map(struct jrun *r, const struct jval *v, const struct jval *const *slot,
    struct jval *out)
{
    static const struct jval *const none[JNAME_PARAMS];
    const struct jname *row = NULL;
    struct jlist all;

    if (slot[0] != NULL && slot[0]->kind == J_TEXT)
        row = jname_find(jinja_filters, slot[0]->t);
    if ((row == NULL || row->least > 0) == (slot[1] == NULL))
        return jrun_fail(r,
            "map takes attribute='name', or a filter without arguments");
    *out = (struct jval){ .kind = J_LIST };
    if (!jval_true(v))
        return 0;
    if (jrun_elements(r, v, &all) < 0 || jrun_room(r, all.n, &out->list) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct jval *m = &out->list.v[out->list.n++];

        if ((slot[1] != NULL ? jrun_attribute(r, &all.v[i], slot[1], m)
                             : jrun_filter(r, row, &all.v[i], none, m)) < 0)
            return -1;
        if (m->kind == J_UNDEFINED && slot[2] != NULL)
            *m = *slot[2];
    }
    return 0;
}

static int
filter_string(struct jrun *r, const struct jval *v, struct jval *out)
{
    size_t from;

    if (v->kind == J_TEXT) {
        *out = *v;
        return 0;
    }
    from = jrun_begin(r);
    return jrun_print(r, v) < 0 ? -1 : jrun_end(r, from, out);
}

static int
filter_join(struct jrun *r, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    const struct jval *const by[JNAME_PARAMS] = { NULL, slot[1] };
    struct jval parts = *v, between = jval_text("", 0);

    if ((slot[1] != NULL && filter_map(r, v, by, &parts) < 0) ||
        (slot[0] != NULL && filter_string(r, slot[0], &between) < 0))
        return -1;
    return jtext_join(r, between.t, &parts, 0, out);
}

/* first, last, list, reverse */
static int
filter_elements(struct jrun *r, int id, const struct jval *v, struct jval *out)
{
    struct jlist all;

    if (jrun_elements(r, v, &all) < 0)
        return -1;
    if (id == JF_FIRST || id == JF_LAST) {
        *out = all.n == 0
            ? (struct jval){ .kind = J_UNDEFINED, .t = { "first or last", 13 } }
            : all.v[id == JF_FIRST ? 0 : all.n - 1];
        return 0;
    }
    *out = (struct jval){ .kind = J_LIST, .list = all };
    if (id == JF_LIST)
        return 0;
    if (jrun_work(r, all.n) < 0 || jrun_room(r, all.n, &out->list) < 0)
        return -1;
    while (out->list.n < all.n) {
        out->list.v[out->list.n] = all.v[all.n - 1 - out->list.n];
        out->list.n++;
    }
    if (v->kind == J_TEXT) {
        if (jtext_join(r, (struct jtext){ "", 0 }, out, 0, out) < 0)
            return -1;
        out->safe = v->safe;
    }
    return 0;
}

/* The text without white space at both ends. */
static struct jtext
trimmed(struct jtext t)
{
    const size_t lead = jtext_leading(t);

    t = (struct jtext){ t.p + lead, t.n - lead };
    t.n -= jtext_trailing(t);
    return t;
}

/* Read a number as Python's float() does, with _ between digits.  0: *d is set;
 * 1: t is no number; -1. */
static int
text_number(struct jrun *r, struct jtext t, double *d)
{
    char s[400], *end, last = '\0';
    double number;
    size_t n = 0;

    for (size_t i = 0; i < t.n; last = t.p[i++]) {
        const int digits = last >= '0' && last <= '9' && i + 1 < t.n &&
            t.p[i + 1] >= '0' && t.p[i + 1] <= '9';

        if (t.p[i] == '_' && digits)
            continue;
        if (n + 1 == sizeof s || (unsigned char)t.p[i] >= 128)
            return jrun_fail(r, "a text is no number that is known here");
        s[n++] = t.p[i];
    }
    s[n] = '\0';
    if (n == 0 || strpbrk(s, "xXpP( \t\n\v\f\r") != NULL)
        return 1;
    number = strtod(s, &end);
    if (*end != '\0')
        return 1;
    *d = number;
    return 0;
}

/* Read a whole number of decimal digits.  0: *i is set; 1: t is no such number,
 * or one of more than 64 bits. */
static int
text_integer(struct jtext t, int64_t *i)
{
    char s[40], *end;

    if (t.n == 0 || t.n >= sizeof s)
        return 1;
    memcpy(s, t.p, t.n);
    s[t.n] = '\0';
    errno = 0;
    *i = strtoll(s, &end, 10);
    return *end != '\0' || end == s || errno != 0;
}

static int
filter_int(struct jrun *r, const struct jval *v, const struct jval *absent,
    struct jval *out)
{
    double d = NAN;
    struct jtext t;
    int64_t i;

    *out = absent != NULL ? *absent : jval_int(0);
    switch (v->kind) {
    case J_UNDEFINED:
        return jrun_fail(r, "\"%.*s\" is not defined", jtext_shown(v->t),
            v->t.p);
    case J_BOOL:
    case J_INT: *out = jval_int(v->i); return 0;
    case J_REAL: d = v->d; break;
    case J_TEXT:
        if (jrun_bytes(r, v->t.n) < 0)
            return -1;
        t = trimmed(v->t);
        if (text_integer(t, &i) == 0) {
            *out = jval_int(i);
            return 0;
        }
        if (text_number(r, t, &d) < 0)
            return -1;
        break;
    default: return 0;
    }
    if (v->kind == J_REAL && isinf(d))
        return jrun_fail(r, "int of a number that is infinite");
    if (!isfinite(d))
        return 0;
    if (!(fabs(d) < 0x1p63))
        return jrun_fail(r, "a whole number has more than 64 bits");
    *out = jval_int((int64_t)d);
    return 0;
}

/* As Python's abs. */
static int
filter_abs(struct jrun *r, const struct jval *v, struct jval *out)
{
    if (!jval_is_number(v))
        return jrun_fail(r, "abs of %s", jval_kind(v));
    if (v->kind == J_REAL) {
        *out = (struct jval){ .kind = J_REAL, .d = fabs(v->d) };
        return 0;
    }
    if (v->i == INT64_MIN)
        return jrun_fail(r, "a whole number has more than 64 bits");
    *out = jval_int(v->i < 0 ? -v->i : v->i);
    return 0;
}

static int
filter_replace(struct jrun *r, struct jtext t, const struct jval *const *slot,
    struct jval *out)
{
    const struct jval *most = slot[2];
    struct jval old, new;

    if (most != NULL && most->kind == J_NONE)
        most = NULL;
    if (filter_string(r, slot[0], &old) < 0 ||
        filter_string(r, slot[1], &new) < 0)
        return -1;
    return jtext_replace(r, t, (const struct jval *const[]){ &old, &new, most },
        0, out);
}

/* Filters of texts; other values are converted to text first, as in Python. */
static int
filter_text(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    struct jval t;
    int k = 0;

    if (id == JF_INDENT && v->kind != J_TEXT)
        return jrun_fail(r, "indent of %s", jval_kind(v));
    if (filter_string(r, v, &t) < 0)
        return -1;
    *out = t;
    switch (id) {
    case JF_TRIM: k = jtext_strip(r, t.t, slot[0], 3, out); break;
    case JF_INDENT: k = jtext_indent(r, t.t, slot, out); break;
    case JF_UPPER: k = jtext_case(r, t.t, JCASE_UPPER, out); break;
    case JF_LOWER: k = jtext_case(r, t.t, JCASE_LOWER, out); break;
    case JF_CAPITALIZE: k = jtext_case(r, t.t, JCASE_CAPITAL, out); break;
    case JF_REPLACE: return filter_replace(r, t.t, slot, out);
    case JF_TITLE: return jtext_case(r, t.t, JCASE_WORDS, out);
    default: break; /* string, safe */
    }
    out->safe = t.safe || id == JF_SAFE;
    return k;
}

static int
apply_filter(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    switch (row->id) {
    case JF_TOJSON: return filter_json(r, v, slot, out);
    case JF_LENGTH: return filter_length(r, v, out);
    case JF_DEFAULT:
        *out = v->kind == J_UNDEFINED ||
                (slot[1] != NULL && jval_true(slot[1]) && !jval_true(v))
            ? slot[0] != NULL ? *slot[0] : jval_text("", 0)
            : *v;
        return 0;
    case JF_SELECTATTR:
    case JF_REJECTATTR:
    case JF_SELECT:
    case JF_REJECT: return filter_select(r, row->id, v, slot, out);
    case JF_MAP: return filter_map(r, v, slot, out);
    case JF_JOIN: return filter_join(r, v, slot, out);
    case JF_FIRST:
    case JF_LAST:
    case JF_LIST:
    case JF_REVERSE: return filter_elements(r, row->id, v, out);
    case JF_INT: return filter_int(r, v, slot[0], out);
    case JF_ITEMS: return jdict_items(r, v, out);
    case JF_ABS: return filter_abs(r, v, out);
    case JF_SORT:
    case JF_DICTSORT:
    case JF_UNIQUE:
    case JF_MIN:
    case JF_MAX: return jrun_sorted(r, row->id, v, slot, out);
    default: return filter_text(r, row->id, v, slot, out);
    }
}

int
jrun_filter(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    if (apply_filter(r, row, v, slot, out) < 0)
        return -1;
    switch (row->id) {
    case JF_SELECTATTR:
    case JF_REJECTATTR:
    case JF_SELECT:
    case JF_REJECT:
    case JF_MAP:
    case JF_ITEMS:
    case JF_REVERSE:
    case JF_UNIQUE:
        if (out->kind == J_LIST)
            out->lazy = 1;
    }
    return 0;
}

int
jrun_test(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *arg, int *is)
{
    static const char operator[] = { [JQ_IN] = 'i',
        [JQ_EQ] = '=',
        [JQ_NE] = '!',
        [JQ_LT] = '<',
        [JQ_LE] = 'l',
        [JQ_GT] = '>',
        [JQ_GE] = 'g' };
    const int list = v->kind == J_LIST || v->kind == J_TUPLE;

    switch (row->id) {
    case JQ_DEFINED: *is = v->kind != J_UNDEFINED; return 0;
    case JQ_UNDEFINED: *is = v->kind == J_UNDEFINED; return 0;
    case JQ_NONE: *is = v->kind == J_NONE; return 0;
    case JQ_STRING: *is = v->kind == J_TEXT; return 0;
    case JQ_NUMBER: *is = jval_is_number(v); return 0;
    case JQ_INTEGER: *is = v->kind == J_INT; return 0;
    case JQ_FLOAT: *is = v->kind == J_REAL; return 0;
    case JQ_BOOLEAN: *is = v->kind == J_BOOL; return 0;
    case JQ_TRUE: *is = v->kind == J_BOOL && v->i; return 0;
    case JQ_FALSE: *is = v->kind == J_BOOL && !v->i; return 0;
    case JQ_MAPPING: *is = v->kind == J_DICT; return 0;
    case JQ_ITERABLE:
    case JQ_SEQUENCE:
        *is = list || v->kind == J_TEXT || v->kind == J_DICT ||
            v->kind == J_UNDEFINED;
        return 0;
    case JQ_ODD:
    case JQ_EVEN:
        if (!jval_is_number(v))
            return jrun_fail(r, "is %s even or odd?", jval_kind(v));
        *is = (v->kind == J_REAL ? fabs(fmod(v->d, 2.0)) : v->i % 2 != 0) ==
            (row->id == JQ_ODD);
        return 0;
    default: return jrun_compare(r, operator[row->id], v, arg, is);
    }
}
