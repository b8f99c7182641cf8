/* Operations on texts; see jinja_run.h. */
#include "gen/jinja_run.h"

#include "text/unicode.h"

#include <string.h>

/* Set *is: do the part.n bytes at t equal `part`?  Only the bytes up to the
 * first difference are counted, in steps of 64. */
static int
begins_with(struct jrun *r, const char *t, struct jtext part, int *is)
{
    *is = 1;
    for (size_t i = 0; i < part.n && *is; i += 64) {
        const size_t n = part.n - i < 64 ? part.n - i : 64;

        if (jrun_bytes(r, n) < 0)
            return -1;
        *is = memcmp(t + i, part.p + i, n) == 0;
    }
    return 0;
}

int
jtext_search(struct jrun *r, struct jtext t, struct jtext part, size_t from,
    size_t *at)
{
    int is = 0;

    *at = from;
    if (part.n == 0) {
        *at = from <= t.n ? from : SIZE_MAX;
        return 0;
    }
    while (*at < t.n && t.n - *at >= part.n) {
        const char *p = memchr(t.p + *at, part.p[0], t.n - *at - part.n + 1);
        const size_t next = p == NULL ? t.n : (size_t)(p - t.p);

        if (jrun_bytes(r, next - *at) < 0 ||
            (p != NULL && begins_with(r, p, part, &is) < 0))
            return -1;
        *at = next;
        if (is)
            return 0;
        *at += p != NULL;
    }
    *at = SIZE_MAX;
    return 0;
}

int
jtext_last(struct jrun *r, struct jtext t, struct jtext part, size_t end,
    size_t *at)
{
    int is;

    for (; end >= part.n && end > 0; end--) {
        const char *p = t.p + end - part.n;

        if (end % 16 == 0 && jrun_work(r, 1) < 0)
            return -1;
        if (*p != part.p[0])
            continue;
        if (begins_with(r, p, part, &is) < 0)
            return -1;
        if (is) {
            *at = end - part.n;
            return 0;
        }
    }
    *at = SIZE_MAX;
    return 0;
}

/* Length of the character at an end of t, whose length is n > 0. */
static size_t
character_length(struct jtext t, int at_end)
{
    size_t at = t.n - 1;

    if (!at_end)
        return jtext_at(t, 1);
    while (at > 0 && ((unsigned char)t.p[at] & 0xc0) == 0x80)
        at--;
    return t.n - at;
}

/* Strip the characters that are in `chars` from one end of *t. */
static int
strip_end(struct jrun *r, struct jtext *t, struct jtext chars, int at_end)
{
    while (t->n > 0) {
        const size_t n = character_length(*t, at_end);
        const struct jtext c = { at_end ? t->p + t->n - n : t->p, n };
        size_t at;

        if (jtext_search(r, chars, c, 0, &at) < 0)
            return -1;
        if (at == SIZE_MAX)
            break;
        t->p += at_end ? 0 : n;
        t->n -= n;
    }
    return 0;
}

int
jtext_strip(struct jrun *r, struct jtext t, const struct jval *chars, int sides,
    struct jval *out)
{
    size_t cut;

    if (chars != NULL && chars->kind != J_NONE) {
        if (chars->kind != J_TEXT)
            return jrun_fail(r, "strip takes a text, not %s", jval_kind(chars));
        if (((sides & 1) && strip_end(r, &t, chars->t, 0) < 0) ||
            ((sides & 2) && strip_end(r, &t, chars->t, 1) < 0))
            return -1;
    } else {
        if (jrun_bytes(r, t.n) < 0)
            return -1;
        cut = sides & 1 ? jtext_leading(t) : 0;
        t = (struct jtext){ t.p + cut, t.n - cut };
        t.n -= sides & 2 ? jtext_trailing(t) : 0;
    }
    *out = jval_text(t.p, t.n);
    return 0;
}

/* May Python's upper (up 1) or lower (up 0) change the character c >= 128?  The
 * ranges are Roman numerals and circled letters, U+345 is a combining mark. */
static int
has_case(uint32_t c, int up)
{
    const unsigned is = uni_class(c);

    return (is & (up ? U_LOW | U_UP : U_UP)) != 0 ||
        (c >= 0x2160 && c <= 0x217f) || (c >= 0x24b6 && c <= 0x24e9) ||
        c == 0x345;
}

/* Does the character c end the word before the next one? */
static int
ends_word(uint32_t c, enum jcase how)
{
    if (how == JCASE_WORDS)
        return uni_python_space(c) ||
            (c < 128 && c > 0 && strchr("-({[<", (int)c) != NULL);
    return !(uni_class(c) & (U_UP | U_LOW));
}

int
jtext_case(struct jrun *r, struct jtext t, enum jcase how, struct jval *out)
{
    const unsigned char *p = (const unsigned char *)t.p;
    const size_t from = jrun_begin(r);
    size_t len;
    int first = 1;

    if (jrun_add(r, t.p, t.n) < 0)
        return -1;
    for (size_t i = 0; i < t.n; i += len) {
        const uint32_t c = utf8_next(p + i, p + t.n, &len);
        const int up = how == JCASE_UPPER || (how != JCASE_LOWER && first);
        char *to = r->out->p + from + i;

        if (c >= 128 && has_case(c, up))
            return jrun_fail(r,
                "letters outside ASCII have no upper and "
                "lower case here");
        if (up && c >= 'a' && c <= 'z')
            *to = (char)(c - 'a' + 'A');
        else if (!up && c >= 'A' && c <= 'Z')
            *to = (char)(c - 'A' + 'a');
        first = how >= JCASE_TITLE && ends_word(c, how);
    }
    return jrun_end(r, from, out);
}

/* Set *most to the number of times that v allows, SIZE_MAX if any. */
static int
replace_count(struct jrun *r, const struct jval *v, size_t *most)
{
    *most = SIZE_MAX;
    if (v == NULL)
        return 0;
    if (v->kind != J_INT && v->kind != J_BOOL)
        return jrun_fail(r, "replace takes a number of times, not %s",
            jval_kind(v));
    if (v->i >= 0)
        *most = (size_t)v->i;
    return 0;
}

/* Offset of the character after the one at byte `at`; t.n + 1: `at` is t.n. */
static size_t
next_character(struct jtext t, size_t at)
{
    return at < t.n ? at + jtext_at((struct jtext){ t.p + at, t.n - at }, 1)
                    : t.n + 1;
}

int
jtext_replace(struct jrun *r, struct jtext t, const struct jval *const *slot,
    int escapes, struct jval *out)
{
    const size_t from = jrun_begin(r);
    size_t at = 0, hit = 0, most;

    if (slot[0]->kind != J_TEXT || slot[1]->kind != J_TEXT)
        return jrun_fail(r, "replace takes two texts");
    if (replace_count(r, slot[2], &most) < 0)
        return -1;
    for (; most > 0 && hit <= t.n; most--) {
        if (jtext_search(r, t, slot[0]->t, hit, &hit) < 0)
            return -1;
        if (hit == SIZE_MAX)
            break;
        if (jrun_add(r, t.p + at, hit - at) < 0 ||
            (escapes ? jrun_escape(r, slot[1]) : jrun_print(r, slot[1])) < 0)
            return -1;
        at = hit + slot[0]->t.n;
        /* an empty text is before each character and at the end */
        hit = slot[0]->t.n > 0 ? at : next_character(t, at);
    }
    return jrun_add(r, t.p + at, t.n - at) < 0 ? -1 : jrun_end(r, from, out);
}

int
jtext_join(struct jrun *r, struct jtext between, const struct jval *v,
    int escapes, struct jval *out)
{
    const size_t from = jrun_begin(r);
    struct jlist all;

    if (jrun_elements(r, v, &all) < 0)
        return -1;
    for (size_t i = 0; i < all.n; i++)
        if ((i > 0 && jrun_add(r, between.p, between.n) < 0) ||
            (escapes ? jrun_escape(r, &all.v[i]) : jrun_print(r, &all.v[i])) <
                0)
            return -1;
    return jrun_end(r, from, out);
}

/* Bytes of the line end at byte i of t, as Python's splitlines has it; 0: there
 * is none. */
static size_t
line_end(struct jtext t, size_t i)
{
    const unsigned char *p = (const unsigned char *)t.p;
    size_t len;
    uint32_t c;

    if (p[i] == '\r')
        return 1 + (i + 1 < t.n && p[i + 1] == '\n');
    c = utf8_next(p + i, p + t.n, &len);
    return (c >= 10 && c <= 12) || (c >= 0x1c && c <= 0x1e) || c == 0x85 ||
            c == 0x2028 || c == 0x2029
        ? len
        : 0;
}

int
jtext_indent(struct jrun *r, struct jtext t, const struct jval *const *slot,
    struct jval *out)
{
    const size_t from = jrun_begin(r);
    const int first = slot[1] != NULL && jval_true(slot[1]);
    const int blank = slot[2] != NULL && jval_true(slot[2]);
    struct jtext by = { " ", 1 };
    size_t times = 4, at = 0, cut = 1;

    if (slot[0] != NULL && slot[0]->kind == J_TEXT) {
        by = slot[0]->t;
        times = 1;
    } else if (slot[0] != NULL) {
        if (slot[0]->kind != J_INT && slot[0]->kind != J_BOOL)
            return jrun_fail(r, "indent by %s", jval_kind(slot[0]));
        times = slot[0]->i > 0 ? (size_t)slot[0]->i : 0;
    }
    t.n -= t.n > 0 && t.p[t.n - 1] == '\r';
    if (jrun_bytes(r, t.n) < 0 || (first && jrun_repeat(r, by, times) < 0))
        return -1;
    for (size_t line = 0; cut > 0; line++, at += cut) {
        size_t end = at;

        cut = 0;
        while (end < t.n && (cut = line_end(t, end)) == 0)
            end++;
        if (line > 0 &&
            (jrun_add(r, "\n", 1) < 0 ||
                ((end > at || blank) && jrun_repeat(r, by, times) < 0)))
            return -1;
        if (jrun_add(r, t.p + at, end - at) < 0)
            return -1;
        at = end;
    }
    return jrun_end(r, from, out);
}

/* Set *v to the argument for a field of str.format(): {name}, {number} or {}.
 * *next is the number of the next {}; SIZE_MAX: a field {number} came before,
 * and {} is refused, as Python does. */
static int
format_field(struct jrun *r, struct jtext name, size_t *next,
    const struct jargs *a, const struct jval **v)
{
    size_t i = 0, k = 0;

    while (k < name.n && name.p[k] >= '0' && name.p[k] <= '9' && k < 4)
        i = 10 * i + (size_t)(name.p[k++] - '0');
    *v = NULL;
    if (k == name.n) {
        if (name.n == 0 ? *next == SIZE_MAX : *next != 0 && *next != SIZE_MAX)
            return jrun_fail(r, "format with numbers in some fields only");
        if (name.n == 0)
            i = (*next)++;
        else
            *next = SIZE_MAX;
        if (i < a->n && a->name[i].n == 0)
            *v = &a->v[i];
    }
    for (i = 0; i < a->n && *v == NULL && name.n > 0; i++)
        if (jtext_equal(a->name[i], name))
            *v = &a->v[i];
    if (*v == NULL)
        return jrun_fail(r,
            "format has no argument for {%.*s}, or the field is not known here",
            jtext_shown(name), name.p);
    return 0;
}

int
jtext_format(struct jrun *r, const struct jval *t, const struct jargs *a,
    struct jval *out)
{
    const size_t n = t->t.n, from = jrun_begin(r);
    const char *p = t->t.p;
    size_t next = 0;

    if (jrun_bytes(r, n) < 0)
        return -1;
    for (size_t i = 0, end; i < n; i = end + 1) {
        const struct jval *v;

        for (end = i; end < n && p[end] != '{' && p[end] != '}';)
            end++;
        if (jrun_add(r, p + i, end - i) < 0)
            return -1;
        if (end == n)
            break;
        if (end + 1 < n && p[end + 1] == p[end]) {
            if (jrun_add(r, p + end++, 1) < 0)
                return -1;
            continue;
        }
        for (i = end; end < n && p[end] != '}';)
            end++;
        if (p[i] == '}' || end == n)
            return jrun_fail(r, "format of a text with a single bracket");
        if (format_field(r, (struct jtext){ p + i + 1, end - i - 1 }, &next, a,
                &v) < 0 ||
            (t->safe ? jrun_escape(r, v) : jrun_print(r, v)) < 0)
            return -1;
    }
    return jrun_end(r, from, out);
}
