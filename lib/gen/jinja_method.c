/* Methods of texts and objects; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <string.h>

static int
push_part(struct jrun *r, struct jlist *l, struct jtext part)
{
    if (jrun_work(r, 1) < 0)
        return -1;
    if ((l->n & (l->n + 1)) == 0) { /* full: it has room for 0, 1, 3, 7 ... */
        struct jval *v = jrun_alloc(r, 2 * l->n + 1, sizeof *v);

        if (v == NULL)
            return -1;
        if (l->n > 0)
            memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
    }
    l->v[l->n++] = jval_text(part.p, part.n);
    return 0;
}

/* Split at white space of any length. */
static int
split_words(struct jrun *r, struct jtext t, struct jlist *l)
{
    for (;;) {
        const size_t blank = jtext_leading(t);
        size_t end;

        t.p += blank;
        t.n -= blank;
        if (t.n == 0)
            return 0;
        for (end = 0; end < t.n; end++)
            if (((unsigned char)t.p[end] & 0xc0) != 0x80 &&
                jtext_leading((struct jtext){ t.p + end, t.n - end }) > 0)
                break;
        if (push_part(r, l, (struct jtext){ t.p, end }) < 0)
            return -1;
        t.p += end;
        t.n -= end;
    }
}

/* Split at sep, at most `most` times, from the beginning or the end. */
static int
split_at(struct jrun *r, struct jtext t, struct jtext sep, int64_t most,
    int from_end, struct jlist *l)
{
    size_t from = 0, to = t.n, hit;

    while (most-- != 0) {
        struct jtext part;

        if ((from_end ? jtext_last(r, t, sep, to, &hit)
                      : jtext_search(r, t, sep, from, &hit)) < 0)
            return -1;
        if (hit == SIZE_MAX)
            break;
        part = from_end ? (struct jtext){ t.p + hit + sep.n, to - hit - sep.n }
                        : (struct jtext){ t.p + from, hit - from };
        if (push_part(r, l, part) < 0)
            return -1;
        if (from_end)
            to = hit;
        else
            from = hit + sep.n;
    }
    if (push_part(r, l, (struct jtext){ t.p + from, to - from }) < 0)
        return -1;
    for (size_t i = 0; from_end && i < l->n / 2; i++) {
        const struct jval v = l->v[i];

        l->v[i] = l->v[l->n - 1 - i];
        l->v[l->n - 1 - i] = v;
    }
    return 0;
}

static int
text_split(struct jrun *r, struct jtext t, int from_end,
    const struct jval *const *slot, struct jval *out)
{
    int64_t most = -1;

    *out = (struct jval){ .kind = J_LIST };
    if (slot[1] != NULL) {
        if (slot[1]->kind != J_INT)
            return jrun_fail(r, "split takes a number of times");
        most = slot[1]->i < 0 ? -1 : slot[1]->i;
    }
    if (jrun_bytes(r, t.n) < 0)
        return -1;
    if ((slot[0] == NULL || slot[0]->kind == J_NONE) && most < 0)
        return split_words(r, t, &out->list);
    if (slot[0] == NULL || slot[0]->kind != J_TEXT || slot[0]->t.n == 0)
        return jrun_fail(r, "split takes a text that is not empty");
    return split_at(r, t, slot[0]->t, most, from_end, &out->list);
}

/* Set *out: does t begin (at_end: end) with the text `part`, or with one of the
 * texts of the tuple `part`? */
static int
text_has(struct jrun *r, struct jtext t, const struct jval *part, int at_end,
    struct jval *out)
{
    const struct jval *v = part->kind == J_TUPLE ? part->list.v : part;
    const size_t n = part->kind == J_TUPLE ? part->list.n : 1;
    int is = 0;

    for (size_t i = 0; i < n; i++) {
        if (v[i].kind != J_TEXT)
            return jrun_fail(r, "a text that begins or ends with %s",
                jval_kind(&v[i]));
        if (jrun_bytes(r, v[i].t.n) < 0)
            return -1;
        is |= v[i].t.n <= t.n &&
            jtext_equal(v[i].t,
                (struct jtext){ t.p + (at_end ? t.n - v[i].t.n : 0),
                    v[i].t.n });
    }
    *out = jval_bool(is);
    return 0;
}

static int
text_find(struct jrun *r, struct jtext t, const struct jval *part,
    struct jval *out)
{
    size_t at;

    if (part->kind != J_TEXT)
        return jrun_fail(r, "find takes a text, not %s", jval_kind(part));
    if (jtext_search(r, t, part->t, 0, &at) < 0)
        return -1;
    if (at != SIZE_MAX) {
        if (jrun_bytes(r, at) < 0)
            return -1;
        at = jtext_length((struct jtext){ t.p, at });
    }
    *out = jval_int(at == SIZE_MAX ? -1 : (int64_t)at);
    return 0;
}

int
jdict_items(struct jrun *r, const struct jval *v, struct jval *out)
{
    *out = (struct jval){ .kind = J_LIST };
    if (v->kind == J_UNDEFINED)
        return 0;
    if (v->kind != J_DICT)
        return jrun_fail(r, "items of %s", jval_kind(v));
    if (jrun_work(r, v->dict->n) < 0 ||
        jrun_room(r, v->dict->n, &out->list) < 0)
        return -1;
    for (size_t i = 0; i < v->dict->n; i++) {
        struct jval *pair = jrun_alloc(r, 2, sizeof *pair);

        if (pair == NULL)
            return -1;
        pair[0] = jval_text(v->dict->name[i].p, v->dict->name[i].n);
        pair[1] = v->dict->v[i];
        out->list.v[out->list.n++] =
            (struct jval){ .kind = J_TUPLE, .list = { pair, 2 } };
    }
    return 0;
}

static int
dict_method(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    const struct jval *m = NULL;

    if (id == JM_ITEMS)
        return jdict_items(r, v, out);
    if (id == JM_GET) {
        if (slot[0]->kind == J_TEXT &&
            jdict_get(r, v->dict, slot[0]->t, &m) < 0)
            return -1;
        *out = m != NULL      ? *m
            : slot[1] != NULL ? *slot[1]
                              : (struct jval){ .kind = J_NONE };
        return 0;
    }
    *out = (struct jval){ .kind = J_LIST };
    if (jrun_work(r, v->dict->n) < 0 ||
        jrun_room(r, v->dict->n, &out->list) < 0)
        return -1;
    for (size_t i = 0; i < v->dict->n; i++)
        out->list.v[out->list.n++] = id == JM_KEYS
            ? jval_text(v->dict->name[i].p, v->dict->name[i].n)
            : v->dict->v[i];
    return 0;
}

/* Join as Python's str.join, which refuses values other than texts; Markup's
 * join converts them. */
static int
join_method(struct jrun *r, const struct jval *between, const struct jval *v,
    struct jval *out)
{
    struct jval all = { .kind = J_LIST };

    if (jrun_elements(r, v, &all.list) < 0 || jrun_work(r, all.list.n) < 0)
        return -1;
    for (size_t i = 0; i < all.list.n && !between->safe; i++)
        if (all.list.v[i].kind != J_TEXT)
            return jrun_fail(r, "join of %s", jval_kind(&all.list.v[i]));
    return jtext_join(r, between->t, &all, between->safe, out);
}

static int
text_method(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    switch (id) {
    case JM_STRIP: return jtext_strip(r, v->t, slot[0], 3, out);
    case JM_LSTRIP: return jtext_strip(r, v->t, slot[0], 1, out);
    case JM_RSTRIP: return jtext_strip(r, v->t, slot[0], 2, out);
    case JM_STARTSWITH: return text_has(r, v->t, slot[0], 0, out);
    case JM_ENDSWITH: return text_has(r, v->t, slot[0], 1, out);
    case JM_SPLIT:
    case JM_RSPLIT: return text_split(r, v->t, id == JM_RSPLIT, slot, out);
    case JM_UPPER: return jtext_case(r, v->t, JCASE_UPPER, out);
    case JM_LOWER: return jtext_case(r, v->t, JCASE_LOWER, out);
    case JM_CAPITALIZE: return jtext_case(r, v->t, JCASE_CAPITAL, out);
    case JM_TITLE: return jtext_case(r, v->t, JCASE_TITLE, out);
    case JM_REPLACE: return jtext_replace(r, v->t, slot, v->safe, out);
    case JM_JOIN: return join_method(r, v, slot[0], out);
    default: return text_find(r, v->t, slot[0], out);
    }
}

int
jrun_method(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    if (v->kind == J_DICT)
        return dict_method(r, row->id, v, slot, out);
    if (text_method(r, row->id, v, slot, out) < 0)
        return -1;
    if (v->safe && out->kind == J_TEXT)
        out->safe = 1;
    for (size_t i = 0; v->safe && out->kind == J_LIST && i < out->list.n; i++)
        out->list.v[i].safe = 1;
    return 0;
}
