/* Methods of texts and objects; see jinja_run.h. */
#include "gen/jinja_run.h"

#include <string.h>

/* Number of bytes at the beginning of t whose characters are in `chars`. */
static size_t
leading_of(struct jtext t, struct jtext chars)
{
    size_t at = 0;

    while (at < t.n) {
        const struct jtext rest = { t.p + at, t.n - at };
        const struct jtext c = { rest.p, jtext_at(rest, 1) };

        if (jtext_search(chars, c, 0) == SIZE_MAX)
            break;
        at += c.n;
    }
    return at;
}

static size_t
trailing_of(struct jtext t, struct jtext chars)
{
    size_t end = t.n;

    while (end > 0) {
        size_t at = end - 1;

        while (at > 0 && ((unsigned char)t.p[at] & 0xc0) == 0x80)
            at--;
        if (jtext_search(chars, (struct jtext){ t.p + at, end - at }, 0) ==
            SIZE_MAX)
            break;
        end = at;
    }
    return t.n - end;
}

int
jtext_strip(struct jrun *r, struct jtext t, const struct jval *chars, int sides,
    struct jval *out)
{
    const int blank = chars == NULL || chars->kind == J_NONE;
    size_t cut;

    if (!blank && chars->kind != J_TEXT)
        return jrun_fail(r, "strip takes a text, not %s", jval_kind(chars));
    if (sides & 1) {
        cut = blank ? jtext_leading(t) : leading_of(t, chars->t);
        t.p += cut;
        t.n -= cut;
    }
    if (sides & 2)
        t.n -= blank ? jtext_trailing(t) : trailing_of(t, chars->t);
    *out = jval_text(t.p, t.n);
    return jrun_work(r, t.n / 64 + (blank ? 0 : chars->t.n / 16));
}

int
jtext_case(struct jrun *r, struct jtext t, enum jcase how, struct jval *out)
{
    struct buf b = { 0 };

    for (size_t i = 0; i < t.n; i++) {
        const int up = how == JCASE_UPPER || (how == JCASE_CAPITAL && i == 0);
        char c = t.p[i];

        if ((unsigned char)c >= 128) {
            buf_release(&b);
            return jrun_fail(r,
                "upper, lower and capitalize are for ASCII letters only here");
        }
        if (up && c >= 'a' && c <= 'z')
            c = (char)(c - 'a' + 'A');
        else if (!up && c >= 'A' && c <= 'Z')
            c = (char)(c - 'A' + 'a');
        buf_addc(&b, c);
    }
    return jrun_text(r, &b, out);
}

int
jtext_replace(struct jrun *r, struct jtext t, const struct jval *const *slot,
    struct jval *out)
{
    struct buf b = { 0 };
    size_t at = 0, hit;

    if (slot[0]->kind != J_TEXT || slot[1]->kind != J_TEXT || slot[2] != NULL ||
        slot[0]->t.n == 0)
        return jrun_fail(r, "replace takes two texts, the first not empty");
    while ((hit = jtext_search(t, slot[0]->t, at)) != SIZE_MAX) {
        buf_add(&b, t.p + at, hit - at);
        buf_add(&b, slot[1]->t.p, slot[1]->t.n);
        at = hit + slot[0]->t.n;
        if (b.n > JRUN_MEMORY)
            break;
    }
    buf_add(&b, t.p + at, t.n - at);
    return jrun_text(r, &b, out);
}

int
jtext_join(struct jrun *r, struct jtext between, const struct jval *v,
    struct jval *out)
{
    struct buf b = { 0 };
    struct jlist all;

    if (jrun_elements(r, v, &all) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++) {
        if (i > 0)
            buf_add(&b, between.p, between.n);
        if (jval_print(&all.v[i], &b) < 0) {
            buf_release(&b);
            return jrun_fail(r, "join of %s", jval_kind(&all.v[i]));
        }
        if (b.n > JRUN_MEMORY)
            break;
    }
    return jrun_text(r, &b, out);
}

static int
push_part(struct jrun *r, struct jlist *l, struct jtext part)
{
    if ((l->n & (l->n + 1)) == 0) { /* full: it has room for 0, 1, 3, 7 ... */
        struct jval *v = jrun_alloc(r, 2 * l->n + 1, sizeof *v);

        if (v == NULL)
            return -1;
        if (l->n > 0)
            memcpy(v, l->v, l->n * sizeof *v);
        l->v = v;
    }
    l->v[l->n++] = jval_text(part.p, part.n);
    return jrun_work(r, 1);
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

/* Offset of the last `part` in the first `end` bytes of t; SIZE_MAX: none. */
static size_t
last_place(struct jtext t, struct jtext part, size_t end)
{
    for (size_t at = end; at >= part.n && at > 0; at--)
        if (memcmp(t.p + at - part.n, part.p, part.n) == 0)
            return at - part.n;
    return SIZE_MAX;
}

/* Split at sep, at most `most` times, from the beginning or the end. */
static int
split_at(struct jrun *r, struct jtext t, struct jtext sep, int64_t most,
    int from_end, struct jlist *l)
{
    size_t from = 0, to = t.n, hit;

    while (most-- != 0 &&
        (hit = from_end ? last_place(t, sep, to)
                        : jtext_search(t, sep, from)) != SIZE_MAX) {
        const struct jtext part = from_end
            ? (struct jtext){ t.p + hit + sep.n, to - hit - sep.n }
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
    if (jrun_work(r, t.n / 16) < 0)
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
        is |= v[i].t.n <= t.n &&
            jtext_equal(v[i].t,
                (struct jtext){ t.p + (at_end ? t.n - v[i].t.n : 0),
                    v[i].t.n });
    }
    *out = jval_bool(is);
    return jrun_work(r, n);
}

static int
text_find(struct jrun *r, struct jtext t, const struct jval *part,
    struct jval *out)
{
    size_t at;

    if (part->kind != J_TEXT)
        return jrun_fail(r, "find takes a text, not %s", jval_kind(part));
    at = jtext_search(t, part->t, 0);
    *out = jval_int(
        at == SIZE_MAX ? -1 : (int64_t)jtext_length((struct jtext){ t.p, at }));
    return jrun_work(r, t.n / 16);
}

int
jdict_items(struct jrun *r, const struct jval *v, struct jval *out)
{
    *out = (struct jval){ .kind = J_LIST };
    if (v->kind == J_UNDEFINED)
        return 0;
    if (v->kind != J_DICT)
        return jrun_fail(r, "items of %s", jval_kind(v));
    if ((out->list.v = jrun_alloc(r, v->dict->n + 1, sizeof *out->list.v)) ==
        NULL)
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
    return jrun_work(r, v->dict->n);
}

static int
dict_method(struct jrun *r, int id, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    const struct jval *m = NULL;

    if (id == JM_ITEMS)
        return jdict_items(r, v, out);
    if (id == JM_GET) {
        if (slot[0]->kind == J_TEXT)
            m = jdict_get(v->dict, slot[0]->t);
        *out = m != NULL      ? *m
            : slot[1] != NULL ? *slot[1]
                              : (struct jval){ .kind = J_NONE };
        return jrun_work(r, v->dict->n);
    }
    *out = (struct jval){ .kind = J_LIST };
    if ((out->list.v = jrun_alloc(r, v->dict->n + 1, sizeof *out->list.v)) ==
        NULL)
        return -1;
    for (size_t i = 0; i < v->dict->n; i++)
        out->list.v[out->list.n++] = id == JM_KEYS
            ? jval_text(v->dict->name[i].p, v->dict->name[i].n)
            : v->dict->v[i];
    return jrun_work(r, v->dict->n);
}

int
jrun_method(struct jrun *r, const struct jname *row, const struct jval *v,
    const struct jval *const *slot, struct jval *out)
{
    if (v->kind == J_DICT)
        return dict_method(r, row->id, v, slot, out);
    switch (row->id) {
    case JM_STRIP: return jtext_strip(r, v->t, slot[0], 3, out);
    case JM_LSTRIP: return jtext_strip(r, v->t, slot[0], 1, out);
    case JM_RSTRIP: return jtext_strip(r, v->t, slot[0], 2, out);
    case JM_STARTSWITH: return text_has(r, v->t, slot[0], 0, out);
    case JM_ENDSWITH: return text_has(r, v->t, slot[0], 1, out);
    case JM_SPLIT:
    case JM_RSPLIT: return text_split(r, v->t, row->id == JM_RSPLIT, slot, out);
    case JM_UPPER: return jtext_case(r, v->t, JCASE_UPPER, out);
    case JM_LOWER: return jtext_case(r, v->t, JCASE_LOWER, out);
    case JM_CAPITALIZE: return jtext_case(r, v->t, JCASE_CAPITAL, out);
    case JM_REPLACE: return jtext_replace(r, v->t, slot, out);
    case JM_JOIN: return jtext_join(r, v->t, slot[0], out);
    default: return text_find(r, v->t, slot[0], out);
    }
}
