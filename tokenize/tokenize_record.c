/*
 * Records of JSONL; see tokenize_record.h.  A first pass looks at all of the
 * object and changes nothing; what it accepts, the second pass can decode.
 */
#include "tokenize_record.h"
#include "format/json.h"

#include <stdint.h>
#include <string.h>

#define DEPTH_MAX 32
#define DIGITS_MAX 15           /* any such number is in range */

struct scan {
    const char *p, *end;
};

static void
blanks(struct scan *s)
{
    while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' ||
        *s->p == '\n' || *s->p == '\r'))
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

/* What follows a backslash, p, is an escape, of *len bytes. */
static int
is_escape(const char *p, const char *end, size_t *len)
{
    char c[4];

    return js_escape(p, end, c, len) > 0;
}

/* A string whose quote has been passed; *escapes: it has some. */
static int
string(struct scan *s, struct span *out, int *escapes)
{
    const char *begin = s->p;
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
            return 0;
        if (c != '\\')
            continue;
        *escapes = 1;
        s->p++;
        if (!is_escape(s->p, s->end, &len))
            return 0;
        s->p += len - 1;
    }
    return 0;
}

static size_t
digits(struct scan *s)
{
    const char *begin = s->p;

    while (s->p < s->end && *s->p >= '0' && *s->p <= '9')
        s->p++;
    return (size_t)(s->p - begin);
}

/* A number without an exponent. */
static int
number(struct scan *s)
{
    const char *first;
    size_t n, more = 0;

    if (s->p < s->end && *s->p == '-')
        s->p++;
    first = s->p;
    n = digits(s);
    if (n == 0 || (n > 1 && *first == '0'))
        return 0;
    if (s->p < s->end && *s->p == '.') {
        s->p++;
        more = digits(s);
        if (more == 0)
            return 0;
    }
    return n + more <= DIGITS_MAX &&
        (s->p == s->end || !strchr("eE.", *s->p) || !*s->p);
}

static int
word(struct scan *s, const char *w)
{
    const size_t n = strlen(w);

    if ((size_t)(s->end - s->p) < n || memcmp(s->p, w, n) != 0)
        return 0;
    s->p += n;
    return 1;
}

static int object(struct scan *s, int depth, const char *const *want,
    struct span *out);

static int
array(struct scan *s, int depth);

/* Any value; *text its place if it is a string, else n is untouched. */
static int
value(struct scan *s, int depth, struct span *text)
{
    struct span name;
    int escapes;

    blanks(s);
    if (s->p == s->end || depth > DEPTH_MAX)
        return 0;
    switch (*s->p) {
    case '"':
        s->p++;
        return string(s, text ? text : &name, &escapes);
    case '{':
        s->p++;
        return object(s, depth + 1, NULL, NULL);
    case '[':
        s->p++;
        return array(s, depth + 1);
    case 't':
        return word(s, "true");
    case 'f':
        return word(s, "false");
    case 'n':
        return word(s, "null");
    }
    return number(s);
}

static int
array(struct scan *s, int depth)
{
    if (got(s, ']'))
        return 1;
    do
        if (!value(s, depth, NULL))
            return 0;
    while (got(s, ','));
    return got(s, ']');
}

static int
is_name(const struct span *s, const char *name)
{
    return name && strlen(name) == s->n && memcmp(name, s->p, s->n) == 0;
}

/* What follows a brace; strings that are members want[0..1] are put into out,
 * whose p is NULL where another value is. */
static int
object(struct scan *s, int depth, const char *const *want, struct span *out)
{
    struct span name, text;
    int escapes;

    if (got(s, '}'))
        return 1;
    do {
        if (!got(s, '"') || !string(s, &name, &escapes) || escapes ||
            !got(s, ':'))
            return 0;
        text.p = NULL;
        if (!value(s, depth, &text))
            return 0;
        for (int i = 0; i < 2 && want; i++)
            if (is_name(&name, want[i]))
                out[i] = text;
    } while (got(s, ','));
    return got(s, '}');
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

int
record_fields(char *p, size_t n, const char *field, const char *other,
    struct span *text, struct span *second)
{
    const char *want[2] = { field, other };
    struct span out[2] = { { 0 } };
    struct scan s = { p, p + n };

    if (!got(&s, '{') || !object(&s, 0, want, out))
        return 0;
    blanks(&s);
    if (s.p != s.end || !out[0].p || (other && !out[1].p))
        return 0;
    *text = out[0];
    decode(text);
    if (!other)
        return 1;
    *second = out[1];
    if (second->p == text->p)       /* the same member */
        *second = *text;
    else
        decode(second);
    return 1;
}

int
record_is_object(const char *p, size_t n)
{
    struct scan s = { p, p + n };

    if (!got(&s, '{') || !object(&s, 0, NULL, NULL))
        return 0;
    blanks(&s);
    return s.p == s.end;
}
