/* Filters and tests; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <string.h>

/* Print v as tojson does. */
static int
filter_json(struct jrun *r, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    struct jjson how = { .indent = SIZE_MAX };
    struct buf b = { 0 };

    how.ascii = slot[0] != NULL && jval_true(slot[0]);
    how.sort = slot[3] != NULL && jval_true(slot[3]);
    if (slot[2] != NULL && slot[2]->kind != J_NONE)
        return jrun_fail(r, "tojson with separators is not known here");
    if (slot[1] != NULL && slot[1]->kind != J_NONE) {
        if (slot[1]->kind != J_INT || slot[1]->i < 0 || slot[1]->i > 16)
            return jrun_fail(r, "tojson takes an indent from 0 to 16");
        how.indent = (size_t)slot[1]->i;
    }
    if (jval_json(v, &how, JRUN_OUTPUT, &b) < 0) {
        buf_release(&b);
        return jrun_fail(r, "tojson of %s, or of one in it, or too long",
            jval_kind(v));
    }
    if (jrun_work(r, b.n / 16) < 0) {
        buf_release(&b);
        return -1;
    }
    return jrun_text(r, &b, out);
}

static int
filter_length(struct jrun *r, const struct jval *v, struct jval *out)
{
    switch (v->kind) {
    case J_UNDEFINED: *out = jval_int(0); return 0;
    case J_TEXT:
        *out = jval_int((int64_t)jtext_length(v->t));
        return jrun_work(r, v->t.n / 16);
    case J_LIST:
    case J_TUPLE: *out = jval_int((int64_t)v->list.n); return 0;
    case J_DICT: *out = jval_int((int64_t)v->dict->n); return 0;
    default: return jrun_fail(r, "%s has no length", jval_kind(v));
    }
}

/* Member `path` of v, for jinja2's attribute=.  Only a single name is known
 * here: a path a.b and an index are refused. */
static int
attribute_of(struct jrun *r, const struct jval *v, const struct jval *path,
    struct jval *out)
{
    if (path->kind != J_TEXT)
        return jrun_fail(r, "an attribute's name is %s", jval_kind(path));
    if (memchr(path->t.p, '.', path->t.n) != NULL)
        return jrun_fail(r, "an attribute of an attribute is not known here");
    return jrun_member(r, v, path->t, out);
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
    if (name->kind == J_TEXT)
        row = jname_find(jinja_tests, name->t);
    if (row == NULL || (row->least == 1) != (arg != NULL))
        return jrun_fail(r, "the test \"%.*s\" is not known here",
            name->kind == J_TEXT && name->t.n < 80 ? (int)name->t.n : 0,
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
    if (jrun_elements(r, v, &all) < 0 ||
        (out->list.v = jrun_alloc(r, all.n + 1, sizeof *out->list.v)) == NULL)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct jval m = all.v[i];
        int is;

        if ((attr && attribute_of(r, &all.v[i], slot[0], &m) < 0) ||
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
    if (jrun_elements(r, v, &all) < 0 ||
        (out->list.v = jrun_alloc(r, all.n + 1, sizeof *out->list.v)) == NULL)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct jval *m = &out->list.v[out->list.n++];

        if ((slot[1] != NULL ? attribute_of(r, &all.v[i], slot[1], m)
                             : jrun_filter(r, row, &all.v[i], none, m)) < 0)
            return -1;
        if (m->kind == J_UNDEFINED && slot[2] != NULL)
            *m = *slot[2];
    }
    return 0;
}

static int
filter_join(struct jrun *r, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    const struct jval *const by[JNAME_PARAMS] = { NULL, slot[1] };
    struct jval parts = *v;

    if (slot[1] != NULL && filter_map(r, v, by, &parts) < 0)
        return -1;
    if (slot[0] != NULL && slot[0]->kind != J_TEXT)
        return jrun_fail(r, "join with %s between", jval_kind(slot[0]));
    return jtext_join(r, slot[0] != NULL ? slot[0]->t : (struct jtext){ "", 0 },
        &parts, out);
}

/* first, last, list, reverse */
static int
filter_elements(struct jrun *r, int id, const struct jval *v, struct jval *out)
{
    struct jlist all, back;

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
    if (v->kind == J_TEXT)
        return jrun_fail(r, "reverse of a text is not known here");
    back = (struct jlist){ jrun_alloc(r, all.n + 1, sizeof *back.v), all.n };
    if (back.v == NULL)
        return -1;
    for (size_t i = 0; i < all.n; i++)
        back.v[i] = all.v[all.n - 1 - i];
    out->list = back;
    return 0;
}

static int
filter_int(struct jrun *r, const struct jval *v, const struct jval *absent,
    struct jval *out)
{
    int64_t i = 0;
    size_t at = 0;
    int minus;

    *out = absent != NULL ? *absent : jval_int(0);
    if (v->kind == J_REAL)
        return jrun_fail(r, "int of a number that is not whole");
    if (v->kind == J_INT || v->kind == J_BOOL)
        *out = jval_int(v->i);
    if (v->kind != J_TEXT || v->t.n > 18)
        return 0;
    minus = v->t.n > 0 && v->t.p[0] == '-';
    for (at = (size_t)minus; at < v->t.n; at++) {
        if (v->t.p[at] < '0' || v->t.p[at] > '9')
            return 0;
        i = 10 * i + (v->t.p[at] - '0');
    }
    if (at > (size_t)minus)
        *out = jval_int(minus ? -i : i);
    return 0;
}

static int
filter_string(struct jrun *r, const struct jval *v, struct jval *out)
{
    struct buf b = { 0 };

    if (v->kind == J_TEXT) {
        *out = *v;
        return 0;
    }
    if (jval_print(v, &b) < 0)
        return jrun_fail(r, "%s as a text: tojson prints one", jval_kind(v));
    return jrun_text(r, &b, out);
}

/* Filters of texts; other values are converted to text first, as in Python. */
static int
filter_text(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    struct jval t;

    if (filter_string(r, v, &t) < 0)
        return -1;
    switch (id) {
    case JF_TRIM: return jtext_strip(r, t.t, slot[0], 3, out);
    case JF_UPPER: return jtext_case(r, t.t, JCASE_UPPER, out);
    case JF_LOWER: return jtext_case(r, t.t, JCASE_LOWER, out);
    case JF_CAPITALIZE: return jtext_case(r, t.t, JCASE_CAPITAL, out);
    case JF_REPLACE: return jtext_replace(r, t.t, slot, out);
    default: *out = t; return 0; /* string, safe */
    }
}

int
jrun_filter(struct jrun *r, const struct jname *row, const struct jval *v,
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
    case JF_SAFE: *out = *v; return 0;
    default: return filter_text(r, row->id, v, slot, out);
    }
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
        *is = list || v->kind == J_TEXT || v->kind == J_DICT ||
            v->kind == J_UNDEFINED;
        return 0;
    case JQ_SEQUENCE:
        *is = list || v->kind == J_TEXT || v->kind == J_DICT ||
            v->kind == J_UNDEFINED;
        return 0;
    case JQ_ODD:
    case JQ_EVEN:
        if (v->kind != J_INT && v->kind != J_BOOL)
            return jrun_fail(r, "is %s even or odd?", jval_kind(v));
        *is = (v->i % 2 != 0) == (row->id == JQ_ODD);
        return 0;
    default: return jrun_compare(r, operator[row->id], v, arg, is);
    }
}
