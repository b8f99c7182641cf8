/*
 * Records of JSONL; see record.h.  A first pass looks at all of the
 * object and changes nothing; what it accepts, the second pass can decode.
 */
#include "record.h"
#include "format/json.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 2048 /* objects and arrays in each other */

struct scan {
    const char *p, *end;
    const char *why; /* what is wrong at p */
};

static int
bad(struct scan *s, const char *why)
{
    s->why = s->p == s->end ? "the record ends too early" : why;
    return 0;
}

static void
blanks(struct scan *s)
{
    while (s->p < s->end &&
        (*s->p == ' ' || *s->p == '\t' || *s->p == '\n' || *s->p == '\r'))
        s->p++;
}

/* c after blanks: passed over. */
static int
got(struct scan *s, int c)
{
    blanks(s);
    if (s->p == s->end || *s->p != c)
        return 0;
    s->p++;
    return 1;
}

/* A string whose quote has been passed; *escapes: it has some. */
static int
string(struct scan *s, struct span *out, int *escapes)
{
    const char *begin = s->p;
    char c4[4];
    size_t len;

    *escapes = 0;
    for (; s->p < s->end; s->p++) {
        const unsigned char c = (unsigned char)*s->p;

        if (c == '"') {
            out->p = (char *)(uintptr_t)begin;
            out->n = (size_t)(s->p++ - begin);
            return 1;
        }
        if (c < 0x20)
            return bad(s, "a control character in a string");
        if (c != '\\')
            continue;
        *escapes = 1;
        if (js_escape(s->p + 1, s->end, c4, &len) == 0)
            return bad(s, "no escape, or half of a surrogate pair");
        s->p += len;
    }
    return bad(s, NULL);
}

static int
digits(struct scan *s)
{
    const char *begin = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return s->p > begin ? 1 : bad(s, "no digit where one must be");
}

/* One of two bytes: passed over. */
static int
either(struct scan *s, int a, int b)
{
    if (s->p == s->end || (*s->p != a && *s->p != b))
        return 0;
    s->p++;
    return 1;
}

static int
number(struct scan *s)
{
    either(s, '-', '-');
    if (!either(s, '0', '0') && !digits(s))
        return bad(s, "no value");
    if (either(s, '.', '.') && !digits(s))
        return 0;
    if (!either(s, 'e', 'E'))
        return 1;
    either(s, '+', '-');
    return digits(s);
}

static int
word(struct scan *s, const char *w)
{
    const size_t n = strlen(w);

    if ((size_t)(s->end - s->p) < n || memcmp(s->p, w, n) != 0)
        return bad(s, "no value");
    s->p += n;
    return 1;
}

/* The name of a member and its colon. */
static int
name(struct scan *s, struct span *out, int *escapes)
{
    if (!got(s, '"'))
        return bad(s, "no name of a member");
    if (!string(s, out, escapes))
        return 0;
    return got(s, ':') ? 1 : bad(s, "no colon behind a name");
}

/* A value that is neither an object nor an array; *text its place if it is a
 * string. */
static int
scalar(struct scan *s, struct span *text)
{
    int escapes;

    switch (s->p == s->end ? 0 : *s->p) {
    case '"': s->p++; return string(s, text, &escapes);
    case 't': return word(s, "true");
    case 'f': return word(s, "false");
    case 'n': return word(s, "null");
    }
    return number(s);
}

/* The next value begins an object or array: 1, its first value comes next, 2
 * it is empty, its end comes next; 0 it does not; -1. */
static int
enter(struct scan *s, char *open, size_t *depth)
{
    struct span ignored;
    int escapes;

    blanks(s);
    if (s->p == s->end || (*s->p != '{' && *s->p != '['))
        return 0;
    if (*depth == DEPTH_MAX)
        return bad(s, "too many objects or arrays in each other") - 1;
    open[(*depth)++] = *s->p == '{' ? '}' : ']';
    s->p++;
    blanks(s);
    if (s->p < s->end && *s->p == open[*depth - 1])
        return 2;
    return open[*depth - 1] == ']' || name(s, &ignored, &escapes) ? 1 : -1;
}

/* What follows a value in open[*depth]: 1 another value comes next, 0 the
 * outermost has ended, -1. */
static int
leave(struct scan *s, const char *open, size_t *depth)
{
    struct span ignored;
    int escapes;

    for (; *depth > 0; --*depth) {
        if (got(s, open[*depth - 1]))
            continue;
        if (!got(s, ','))
            return bad(s, "neither a comma nor the end of an object or array") -
                1;
        return open[*depth - 1] == ']' || name(s, &ignored, &escapes) ? 1 : -1;
    }
    return 0;
}

/* Any value; *text its place if it is a string, else untouched. */
static int
value(struct scan *s, struct span *text)
{
    struct span ignored;
    char open[DEPTH_MAX];
    size_t depth = 0;
    int k;

    do {
        while ((k = enter(s, open, &depth)) == 1)
            ;
        if (k < 0 || (k == 0 && !scalar(s, depth ? &ignored : text)))
            return 0;
        k = leave(s, open, &depth);
    } while (k > 0);
    return k == 0;
}

/* Does the string s, perhaps with escapes, spell the name? */
static int
spells(const struct span *s, int escapes, const char *want)
{
    const char *p = s->p, *end = p + s->n;
    const size_t n = strlen(want);
    size_t len, k, i = 0;
    char c[4];

    if (!escapes)
        return n == s->n && memcmp(want, p, n) == 0;
    for (; p < end; p += len, i += k) {
        len = k = 1;
        *c = *p;
        if (*p == '\\') {
            k = js_escape(p + 1, end, c, &len);
            len++;
        }
        if (k > n - i || memcmp(want + i, c, k) != 0)
            return 0;
    }
    return i == n;
}

/* An object and nothing behind it; strings that are members want[0..1] are
 * put into out, whose p is NULL where another value is. */
static int
object(struct scan *s, const char *const *want, struct span *out)
{
    struct span member, text;
    int escapes;

    if (!got(s, '{'))
        return bad(s, "is no object");
    if (!got(s, '}')) {
        do {
            if (!name(s, &member, &escapes))
                return 0;
            text.p = NULL;
            if (!value(s, &text))
                return 0;
            for (int i = 0; i < 2 && want; i++)
                if (want[i] && spells(&member, escapes, want[i]))
                    out[i] = text;
        } while (got(s, ','));
        if (!got(s, '}'))
            return bad(s, "neither a comma nor the end of the object");
    }
    blanks(s);
    return s->p == s->end ? 1 : bad(s, "more follows the object");
}

static void
decode(struct span *s)
{
    const char *p = s->p, *end = p + s->n, *slash;
    char *to = s->p;
    size_t len;

    while ((slash = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        memmove(to, p, (size_t)(slash - p));
        to += slash - p;
        p = slash + 1;
        to += js_escape(p, end, to, &len);
        p += len;
    }
    memmove(to, p, (size_t)(end - p));
    s->n = (size_t)(to - s->p) + (size_t)(end - p);
}

const char *
record_fields(char *p, size_t n, const char *field, const char *other,
    struct span *text, struct span *second, size_t *at)
{
    const char *want[2] = { field, other };
    struct span out[2] = { { NULL, 0 }, { NULL, 0 } };
    struct scan s = { p, p + n, NULL };

    if (!object(&s, want, out)) {
        *at = (size_t)(s.p - p);
        return s.why;
    }
    *text = *second = out[0];
    if (text->p)
        decode(text);
    if (out[1].p && out[1].p == out[0].p) { /* the same member */
        *second = *text;
    } else {
        *second = out[1];
        if (second->p)
            decode(second);
    }
    return NULL;
}

int
record_is_object(const char *p, size_t n)
{
    struct scan s = { p, p + n, NULL };

    return object(&s, NULL, NULL);
}
