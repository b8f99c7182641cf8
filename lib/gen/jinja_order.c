/* Comparisons and sorting; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <math.h>
#include <string.h>

/* Count the comparison of two values that are nested in `depth` others. */
static int
count_pair(struct jrun *r, size_t depth)
{
    if (depth > JRUN_VALUES)
        return jrun_fail(r,
            "takes too much time: it compares values "
            "that nest too deep");
    return jrun_work(r, 1);
}

static int equal_values(struct jrun *r, const struct jval *a,
    const struct jval *b, size_t depth, int *is);

static int
equal_lists(struct jrun *r, const struct jlist *a, const struct jlist *b,
    size_t depth, int *is)
{
    *is = a->n == b->n;
    for (size_t i = 0; i < a->n && *is; i++)
        if (equal_values(r, &a->v[i], &b->v[i], depth + 1, is) < 0)
            return -1;
    return 0;
}

static int
equal_dicts(struct jrun *r, const struct jdict *a, const struct jdict *b,
    size_t depth, int *is)
{
    const struct jval *v;

    *is = a->n == b->n;
    for (size_t i = 0; i < a->n && *is; i++) {
        if (jdict_get(r, b, a->name[i], &v) < 0)
            return -1;
        *is = v != NULL;
        if (*is && equal_values(r, &a->v[i], v, depth + 1, is) < 0)
            return -1;
    }
    return 0;
}

/* Compare two texts of the same length. */
static int
equal_texts(struct jrun *r, struct jtext a, struct jtext b, int *is)
{
    if (jrun_bytes(r, a.n) < 0)
        return -1;
    *is = jtext_equal(a, b);
    return 0;
}

static int
equal_values(struct jrun *r, const struct jval *a, const struct jval *b,
    size_t depth, int *is)
{
    *is = 0;
    if (count_pair(r, depth) < 0)
        return -1;
    if (jval_is_number(a) && jval_is_number(b)) {
        *is = a->kind != J_REAL && b->kind != J_REAL
            ? a->i == b->i
            : jval_real(a) == jval_real(b);
        return 0;
    }
    if (a->kind != b->kind)
        return 0;
    switch (a->kind) {
    case J_TEXT: return a->t.n == b->t.n ? equal_texts(r, a->t, b->t, is) : 0;
    case J_LIST:
    case J_TUPLE: return equal_lists(r, &a->list, &b->list, depth, is);
    case J_DICT: return equal_dicts(r, a->dict, b->dict, depth, is);
    case J_SPACE: *is = a->dict == b->dict; return 0;
    case J_LOOP: *is = a->loop == b->loop; return 0;
    case J_MACRO: *is = a->macro == b->macro; return 0;
    case J_CALLER: *is = a->caller == b->caller; return 0;
    case J_FUNCTION: *is = a->i == b->i; return 0;
    case J_METHOD: return jrun_fail(r, "methods are compared");
    default: *is = 1; return 0;
    }
}

static int
order_texts(struct jrun *r, struct jtext a, struct jtext b, int *order)
{
    const size_t n = a.n < b.n ? a.n : b.n;
    int d;

    if (jrun_bytes(r, n) < 0)
        return -1;
    d = n > 0 ? memcmp(a.p, b.p, n) : 0;
    *order = d != 0 ? (d > 0) - (d < 0) : (a.n > b.n) - (a.n < b.n);
    return 0;
}

/* Set *order to -1, 0 or 1; to 2 if the numbers have no order (NaN). */
static int order_values(struct jrun *r, const struct jval *a,
    const struct jval *b, size_t depth, int *order);

/* Two lists are in the order of their first elements that differ. */
static int
order_lists(struct jrun *r, const struct jlist *a, const struct jlist *b,
    size_t depth, int *order)
{
    const size_t n = a->n < b->n ? a->n : b->n;

    for (size_t i = 0; i < n; i++) {
        int same;

        if (equal_values(r, &a->v[i], &b->v[i], depth, &same) < 0)
            return -1;
        if (!same)
            return order_values(r, &a->v[i], &b->v[i], depth + 1, order);
    }
    *order = (a->n > b->n) - (a->n < b->n);
    return 0;
}

static int
order_values(struct jrun *r, const struct jval *a, const struct jval *b,
    size_t depth, int *order)
{
    if (count_pair(r, depth) < 0)
        return -1;
    if (a->kind == J_TEXT && b->kind == J_TEXT)
        return order_texts(r, a->t, b->t, order);
    if ((a->kind == J_LIST || a->kind == J_TUPLE) && a->kind == b->kind)
        return order_lists(r, &a->list, &b->list, depth, order);
    if (!jval_is_number(a) || !jval_is_number(b))
        return jrun_fail(r, "%s and %s have no order", jval_kind(a),
            jval_kind(b));
    if (a->kind != J_REAL && b->kind != J_REAL)
        *order = (a->i > b->i) - (a->i < b->i);
    else if (isnan(jval_real(a)) || isnan(jval_real(b)))
        *order = 2;
    else
        *order = (jval_real(a) > jval_real(b)) - (jval_real(a) < jval_real(b));
    return 0;
}

static int
is_element(struct jrun *r, const struct jval *a, const struct jval *b, int *is)
{
    const struct jval *m;
    struct jlist all;
    size_t at;

    if (b->kind == J_TEXT) {
        if (a->kind != J_TEXT)
            return jrun_fail(r, "%s in a text", jval_kind(a));
        if (jtext_search(r, b->t, a->t, 0, &at) < 0)
            return -1;
        *is = at != SIZE_MAX;
        return 0;
    }
    if (b->kind == J_DICT) {
        if (a->kind == J_LIST || a->kind == J_DICT)
            return jrun_fail(r, "%s as the name in an object", jval_kind(a));
        if (a->kind == J_TEXT && jdict_get(r, b->dict, a->t, &m) < 0)
            return -1;
        *is = a->kind == J_TEXT && m != NULL;
        return 0;
    }
    if (jrun_elements(r, b, &all) < 0)
        return -1;
    *is = 0;
    for (size_t i = 0; i < all.n && !*is; i++)
        if (equal_values(r, a, &all.v[i], 0, is) < 0)
            return -1;
    return 0;
}

int
jrun_compare(struct jrun *r, int op, const struct jval *a, const struct jval *b,
    int *is)
{
    int d;

    if (op == '=' || op == '!' || op == 'i' || op == 'n') {
        if ((op == '=' || op == '!' ? equal_values(r, a, b, 0, is)
                                    : is_element(r, a, b, is)) < 0)
            return -1;
        *is = *is == (op == '=' || op == 'i');
        return 0;
    }
    if (order_values(r, a, b, 0, &d) < 0)
        return -1;
    *is = d != 2 &&
        (op == '<'          ? d < 0
                : op == '>' ? d > 0
                : op == 'l' ? d <= 0
                            : d >= 0);
    return 0;
}

/* Merge the sorted halves of a[n], with room for n elements at `to`. */
static int
sort_part(struct jrun *r, struct jkeyed *a, size_t n, int reverse,
    struct jkeyed *to)
{
    const size_t half = n / 2;
    size_t i = 0, k = half;
    int d;

    if (n < 2)
        return 0;
    if (sort_part(r, a, half, reverse, to) < 0 ||
        sort_part(r, a + half, n - half, reverse, to) < 0)
        return -1;
    for (size_t at = 0; at < n; at++) {
        if (i < half && k < n) {
            if (order_values(r, &a[i].key, &a[k].key, 0, &d) < 0)
                return -1;
            to[at] = d != 2 && (reverse ? d < 0 : d > 0) ? a[k++] : a[i++];
        } else {
            to[at] = i < half ? a[i++] : a[k++];
        }
    }
    memcpy(a, to, n * sizeof *a);
    return 0;
}

int
jrun_sort(struct jrun *r, struct jkeyed *a, size_t n, int reverse)
{
    struct jkeyed *to = jrun_alloc(r, n + 1, sizeof *to);

    return to == NULL ? -1 : sort_part(r, a, n, reverse, to);
}

/* Set *a to the n elements of v, each with the key that a filter compares: the
 * element or its attribute, a text in lower case unless case matters. */
static int
keyed_elements(struct jrun *r, const struct jval *v,
    const struct jval *attribute, int exact, struct jkeyed **a, size_t *n)
{
    struct jlist all;

    if (jrun_elements(r, v, &all) < 0 ||
        (*a = jrun_alloc(r, all.n + 1, sizeof **a)) == NULL)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        struct jkeyed *k = &(*a)[i];

        k->key = k->v = all.v[i];
        if (attribute != NULL && attribute->kind != J_NONE &&
            jrun_attribute(r, &all.v[i], attribute, &k->key) < 0)
            return -1;
        if (!exact && k->key.kind == J_TEXT &&
            jtext_case(r, k->key.t, JCASE_LOWER, &k->key) < 0)
            return -1;
    }
    *n = all.n;
    return 0;
}

/* Wrap each key in a list, as jinja2 does for sort: elements of a list that are
 * equal are not ordered, so that keys without an order, such as none, may be
 * equal. */
static int
keys_to_lists(struct jrun *r, struct jkeyed *a, size_t n)
{
    struct jval *key = jrun_alloc(r, n + 1, sizeof *key);

    if (key == NULL || jrun_work(r, n) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        key[i] = a[i].key;
        a[i].key = (struct jval){ .kind = J_LIST, .list = { &key[i], 1 } };
    }
    return 0;
}

/* Can v be in a Python set? */
static int
is_hashable(const struct jval *v)
{
    return v->kind != J_LIST && v->kind != J_DICT && v->kind != J_TUPLE;
}

/* Keep the first of the elements that have the same key. */
static int
unique_keys(struct jrun *r, struct jkeyed *a, size_t *n)
{
    size_t kept = 0;

    for (size_t i = 0; i < *n; i++) {
        int seen = 0;

        if (!is_hashable(&a[i].key))
            return jrun_fail(r, "unique of %s", jval_kind(&a[i].key));
        for (size_t k = 0; k < kept && !seen; k++)
            if (equal_values(r, &a[i].key, &a[k].key, 0, &seen) < 0)
                return -1;
        if (!seen)
            a[kept++] = a[i];
    }
    *n = kept;
    return 0;
}

/* Set *out to the first element with the least key (least 1) or with the
 * greatest. */
static int
extreme(struct jrun *r, const struct jkeyed *a, size_t n, int least,
    struct jval *out)
{
    size_t best = 0;
    int d;

    if (n == 0) {
        *out = (struct jval){ .kind = J_UNDEFINED, .t = { "min or max", 10 } };
        return 0;
    }
    for (size_t i = 1; i < n; i++) {
        if (order_values(r, &a[i].key, &a[best].key, 0, &d) < 0)
            return -1;
        if (d != 2 && (least ? d < 0 : d > 0))
            best = i;
    }
    *out = a[best].v;
    return 0;
}

/* Set *a to the n pairs of an object, each with the key that dictsort compares:
 * the pair's name or its value. */
static int
sorted_pairs(struct jrun *r, const struct jval *v,
    const struct jval *const *slot, int exact, struct jkeyed **a, size_t *n)
{
    int64_t by = 0;
    struct jval pairs;

    if (slot[1] != NULL) {
        if (slot[1]->kind != J_TEXT ||
            (!jtext_is(slot[1]->t, "key") && !jtext_is(slot[1]->t, "value")))
            return jrun_fail(r, "dictsort is by 'key' or 'value'");
        by = jtext_is(slot[1]->t, "value");
    }
    if (v->kind != J_DICT)
        return jrun_fail(r, "dictsort of %s", jval_kind(v));
    return jdict_items(r, v, &pairs) < 0
        ? -1
        : keyed_elements(r, &pairs, &(struct jval){ .kind = J_INT, .i = by },
              exact, a, n);
}

int
jrun_sorted(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    /* sort has (reverse, case_sensitive, attribute), dictsort (case_sensitive,
     * by, reverse), the others (case_sensitive, attribute) */
    const struct jval *match_case = slot[id == JF_SORT ? 1 : 0];
    const struct jval *attribute = slot[id == JF_SORT ? 2 : 1], *reverse = NULL;
    const int exact = match_case != NULL && jval_true(match_case);
    struct jkeyed *a;
    size_t n;

    if (id == JF_SORT && attribute != NULL && attribute->kind == J_TEXT) {
        if (jrun_bytes(r, attribute->t.n) < 0)
            return -1;
        if (memchr(attribute->t.p, ',', attribute->t.n) != NULL)
            return jrun_fail(r, "sort by several attributes is not known here");
    }
    if (id == JF_SORT || id == JF_DICTSORT)
        reverse = slot[id == JF_SORT ? 0 : 2];
    if ((id == JF_DICTSORT
                ? sorted_pairs(r, v, slot, exact, &a, &n)
                : keyed_elements(r, v, attribute, exact, &a, &n)) < 0)
        return -1;
    if (id == JF_SORT && keys_to_lists(r, a, n) < 0)
        return -1;
    if (id == JF_MIN || id == JF_MAX)
        return extreme(r, a, n, id == JF_MIN, out);
    if ((id == JF_UNIQUE ? unique_keys(r, a, &n)
                         : jrun_sort(r, a, n,
                               reverse != NULL && jval_true(reverse))) < 0)
        return -1;
    *out = (struct jval){ .kind = J_LIST };
    if (jrun_room(r, n, &out->list) < 0)
        return -1;
    for (; out->list.n < n; out->list.n++)
        out->list.v[out->list.n] = a[out->list.n].v;
    return 0;
}
