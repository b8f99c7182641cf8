/* JSON read without a tree, and large members as text; see json_text.h. */
#include "format/json_text.h"
#include "format/json.h"
#include "base/utf8.h"
#include "format/names.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#define HAVE_VECTORS
#elif defined(__aarch64__)
#include <arm_neon.h>
#define HAVE_VECTORS
#endif

#define DEPTH_MAX 2048 /* nested objects and arrays */
#define CHUNK 16       /* bytes looked at and copied together */

/* ---- values and the marks between them ---- */

static int
bad_text(struct js_in *in, const char *why)
{
    in->why = in->p == in->end ? "it ends too early" : why;
    return 0;
}

void
js_in_begin(struct js_in *in, const char *p, size_t n)
{
    *in = (struct js_in){ .p = p, .end = p + n };
}

void
js_in_end(struct js_in *in)
{
    free(in->text);
}

static void
blanks(struct js_in *in)
{
    while (in->p < in->end &&
        (*in->p == ' ' || *in->p == '\n' || *in->p == '\r' || *in->p == '\t'))
        in->p++;
}

int
js_in_mark(struct js_in *in, char c)
{
    blanks(in);
    if (in->p == in->end || *in->p != c)
        return 0;
    in->p++;
    return 1;
}

int
js_in_done(struct js_in *in)
{
    blanks(in);
    return in->p == in->end ? 1 : bad_text(in, "more follows");
}

/* Four hexadecimal digits, or -1. */
static int32_t
hex4(const char *p, const char *end)
{
    int32_t v = 0;

    if (end - p < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        const int c = p[i], low = c | 0x20;

        if (c >= '0' && c <= '9')
            v = v << 4 | (c - '0');
        else if (low >= 'a' && low <= 'f')
            v = v << 4 | (low - 'a' + 10);
        else
            return -1;
    }
    return v;
}

/* The character of an escape \uXXXX, or of two that form a surrogate pair; p is
 * at the u.  *len: bytes from p on.  -1: half a pair, or no digits. */
static int32_t
escaped_character(const char *p, const char *end, size_t *len)
{
    const int32_t high = hex4(p + 1, end);
    int32_t low;

    *len = 5;
    if (high < 0xd800 || high > 0xdfff)
        return high;
    if (high > 0xdbff || end - p < 11 || p[5] != '\\' || p[6] != 'u')
        return -1;
    low = hex4(p + 7, end);
    *len = 11;
    return low < 0xdc00 || low > 0xdfff
        ? -1
        : 0x10000 + ((high - 0xd800) << 10 | (low - 0xdc00));
}

#if defined(__SSE2__)
/* Returns which byte of p[CHUNK] is the first that does not stand for itself in
 * a string of JSON; CHUNK: all do. */
static inline size_t
first_special(const char *p)
{
    const __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
    const __m128i control = _mm_set1_epi8(0x1f);
    const __m128i quote = _mm_cmpeq_epi8(v, _mm_set1_epi8('"'));
    const __m128i slash = _mm_cmpeq_epi8(v, _mm_set1_epi8('\\'));
    const __m128i low = _mm_cmpeq_epi8(_mm_min_epu8(v, control), v);
    const unsigned bits = (unsigned)_mm_movemask_epi8(
        _mm_or_si128(low, _mm_or_si128(quote, slash)));

    return bits != 0 ? (size_t)__builtin_ctz(bits) : CHUNK;
}
#elif defined(__aarch64__)
static inline size_t
first_special(const char *p)
{
    const uint8x16_t v = vld1q_u8((const unsigned char *)p);
    const uint8x16_t quote = vceqq_u8(v, vdupq_n_u8('"'));
    const uint8x16_t slash = vceqq_u8(v, vdupq_n_u8('\\'));
    const uint8x16_t low = vcltq_u8(v, vdupq_n_u8(0x20));
    const uint16x8_t all =
        vreinterpretq_u16_u8(vorrq_u8(low, vorrq_u8(quote, slash)));
    /* 4 bits for each byte */
    const uint64_t bits =
        vget_lane_u64(vreinterpret_u64_u8(vshrn_n_u16(all, 4)), 0);

    return bits != 0 ? (size_t)__builtin_ctzll(bits) / 4 : CHUNK;
}
#endif

size_t
js_plain(const char *p, size_t n)
{
    const uint64_t ones = UINT64_MAX / 255, high = ones * 128;
    uint64_t w, quote, slash;
    size_t i = 0;

#ifdef HAVE_VECTORS
    for (; i + CHUNK <= n; i += CHUNK) {
        const size_t at = first_special(p + i);

        if (at < CHUNK)
            return i + at;
    }
#endif
    for (; i + 8 <= n; i += 8) {
        memcpy(&w, p + i, 8);
        quote = w ^ ones * '"';
        slash = w ^ ones * '\\';
        w = (((w - ones * 0x20) & ~w) | ((quote - ones) & ~quote) |
                ((slash - ones) & ~slash)) &
            high;
        if (w != 0) /* its lowest bit belongs to the first special byte */
            return i + (size_t)__builtin_ctzll(w) / 8;
    }
    while (i < n && (unsigned char)p[i] >= 0x20 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

size_t
js_copy_plain(char *to, const char *p, size_t n)
{
    size_t i = 0, k;

#ifdef HAVE_VECTORS
    for (; i + CHUNK <= n; i += CHUNK) {
        const size_t at = first_special(p + i);

        memcpy(to + i, p + i, CHUNK);
        if (at < CHUNK)
            return i + at;
    }
#endif
    k = js_plain(p + i, n - i);
    memmove(to + i, p + i, k);
    return i + k;
}

/* The byte that a backslash and a letter stand for, or 0. */
static const char meant[256] = { ['"'] = '"',
    ['\\'] = '\\',
    ['/'] = '/',
    ['b'] = '\b',
    ['f'] = '\f',
    ['n'] = '\n',
    ['r'] = '\r',
    ['t'] = '\t' };

size_t
js_escape(const char *p, const char *end, char *to, size_t *len)
{
    int32_t c;

    *len = 1;
    if (p == end)
        return 0;
    if (*p == 'u')
        return (c = escaped_character(p, end, len)) < 0
            ? 0
            : utf8_set(to, (uint32_t)c);
    *to = meant[(unsigned char)*p];
    return *to != '\0';
}

size_t
js_unescape(const char *p, size_t n, char *to)
{
    const char *const end = p + n;
    char *const begin = to;
    size_t k, len;

    while (p < end) {
        /* Chunks may not overlap: `to` may be a few bytes before p. */
        if ((uintptr_t)p - (uintptr_t)to >= CHUNK) {
            k = js_copy_plain(to, p, (size_t)(end - p));
        } else {
            k = js_plain(p, (size_t)(end - p));
            memmove(to, p, k);
        }
        to += k;
        p += k;
        if (p == end)
            break;
        to += js_escape(p + 1, end, to, &len);
        p += 1 + len;
    }
    return (size_t)(to - begin);
}

int
js_in_string(struct js_in *in, struct js_string *s)
{
    char c4[4];
    size_t len;

    if (!js_in_mark(in, '"'))
        return bad_text(in, "no string");
    s->escapes = 0;
    for (s->p = in->p; in->p < in->end; in->p++) {
        in->p += js_plain(in->p, (size_t)(in->end - in->p));
        if (in->p == in->end)
            break;
        if (*in->p == '"') {
            s->n = (size_t)(in->p++ - s->p);
            return 1;
        }
        if (*in->p != '\\')
            return bad_text(in, "a control character in a string");
        s->escapes = 1;
        if (in->end - in->p > 1 && meant[(unsigned char)in->p[1]])
            len = 1;
        else if (js_escape(in->p + 1, in->end, c4, &len) == 0)
            return bad_text(in, "no escape, or half of a surrogate pair");
        in->p += len;
    }
    return bad_text(in, NULL);
}

int
js_in_name(struct js_in *in, struct js_string *s)
{
    return js_in_string(in, s) &&
        (js_in_mark(in, ':') || bad_text(in, "no colon behind a name"));
}

int
js_in_text(struct js_in *in, const char **s, size_t *n)
{
    struct js_string raw;

    if (!js_in_string(in, &raw))
        return 0;
    if (!utf8_text(raw.p, raw.n)) {
        in->p = raw.p;
        return bad_text(in, "a string is not UTF-8");
    }
    *s = raw.p;
    *n = raw.n;
    if (!raw.escapes)
        return 1;
    if (!in->text) /* decoding escapes lengthens no string */
        in->text = xmalloc(raw.n + (size_t)(in->end - in->p));
    *s = in->text + in->used;
    *n = js_unescape(raw.p, raw.n, in->text + in->used);
    in->used += *n;
    if (memchr(*s, '\0', *n) == NULL)
        return 1;
    in->p = raw.p;
    return bad_text(in, "NUL in a string");
}

int
js_in_number(struct js_in *in, uint64_t *v)
{
    const char *p;
    size_t n;

    blanks(in);
    for (*v = 0, p = in->p; p < in->end && *p >= '0' && *p <= '9'; p++)
        *v = *v * 10 + (uint64_t)(*p - '0');
    n = (size_t)(p - in->p);
    if (n == 0 || (n > 1 && *in->p == '0'))
        return bad_text(in, "no whole number");
    if (n > 15)
        return bad_text(in, "a number of more than 15 digits");
    in->p = p;
    return 1;
}

/* Read byte a or b and return 1; 0: neither is next. */
static int
either(struct js_in *in, char a, char b)
{
    if (in->p == in->end || (*in->p != a && *in->p != b))
        return 0;
    in->p++;
    return 1;
}

static int
digits(struct js_in *in)
{
    const char *const from = in->p;

    while (in->p < in->end && *in->p >= '0' && *in->p <= '9')
        in->p++;
    return in->p > from ? 1 : bad_text(in, "no digit where one must be");
}

static int
read_digits(struct js_in *in)
{
    either(in, '-', '-');
    if (!either(in, '0', '0') && !digits(in))
        return bad_text(in, "no value");
    if (either(in, '.', '.') && !digits(in))
        return 0;
    if (!either(in, 'e', 'E'))
        return 1;
    either(in, '+', '-');
    return digits(in);
}

/* Read a value that is neither an object nor an array; *text: set if it is a
 * string. */
static int
scalar(struct js_in *in, struct js_string *text)
{
    static const char *const word[] = { "true", "false", "null" };

    if (in->p < in->end && *in->p == '"')
        return js_in_string(in, text);
    for (int i = 0; i < 3; i++) {
        const size_t n = strlen(word[i]);

        if ((size_t)(in->end - in->p) >= n && memcmp(in->p, word[i], n) == 0) {
            in->p += n;
            return 1;
        }
    }
    return read_digits(in);
}

/* Enter the object or array that begins here, if one does, and put its closing
 * byte on the stack `open`.  Returns 0: none begins here; 1: entered, its first
 * value is next; 2: entered, it is empty and its end is next; -1: bad text. */
static int
enter_nested(struct js_in *in, char *open, size_t *depth)
{
    struct js_string ignored;
    char c;

    blanks(in);
    c = in->p < in->end ? *in->p : '\0';
    if (c != '{' && c != '[')
        return 0;
    if (*depth == DEPTH_MAX)
        return bad_text(in, "too many objects or arrays in each other") - 1;
    open[(*depth)++] = c = c == '{' ? '}' : ']';
    in->p++;
    blanks(in);
    if (in->p < in->end && *in->p == c)
        return 2;
    return c == ']' || js_in_name(in, &ignored) ? 1 : -1;
}

/* Read on after a value, and leave objects and arrays that end here.
 * Returns 1: another value is next; 0: the outermost has ended; -1: bad
 * text. */
static int
leave_nested(struct js_in *in, const char *open, size_t *depth)
{
    struct js_string ignored;

    for (; *depth > 0; --*depth) {
        if (js_in_mark(in, open[*depth - 1]))
            continue;
        if (!js_in_mark(in, ','))
            return bad_text(in,
                       "neither a comma nor the end of an object or array") -
                1;
        return open[*depth - 1] == ']' || js_in_name(in, &ignored) ? 1 : -1;
    }
    return 0;
}

int
js_in_value(struct js_in *in, struct js_string *text, size_t *count)
{
    struct js_string ignored;
    char open[DEPTH_MAX];
    size_t depth = 0;
    int k;

    text->p = NULL;
    *count = 0;
    do {
        *count += depth == 1;
        while ((k = enter_nested(in, open, &depth)) == 1)
            *count += depth == 1;
        if (k < 0 || (k == 0 && !scalar(in, depth ? &ignored : text)))
            return 0;
        k = leave_nested(in, open, &depth);
    } while (k > 0);
    return k == 0;
}

/* ---- large members as text ---- */

/* Does the part's path begin with `under` (unless NULL) and then name[n], whose
 * escapes are not resolved?  Returns the byte after these names in the path,
 * '.' or '\0'; -1: it does not. */
static int
leads(const struct js_part *part, const char *under, const char *name, size_t n)
{
    const size_t skip = under ? strlen(under) + 1 : 0;
    const char *at = part->path;

    if (under && (strncmp(at, under, skip - 1) != 0 || at[skip - 1] != '.'))
        return -1;
    at += skip;
    return strlen(at) >= n && memcmp(at, name, n) == 0 &&
            (at[n] == '.' || at[n] == '\0')
        ? at[n]
        : -1;
}

/* Find parts in an object whose opening brace has been read.  under NULL: the
 * object is the whole text; else it is the text's member `under`.  1: the
 * object was read to its end; 0: the text is bad, or has a part twice. */
static int
find_large_parts(struct js_in *in, const char *under, struct js_part *part,
    size_t nparts)
{
    struct js_string name, ignored;
    size_t count;

    if (js_in_mark(in, '}'))
        return 1;
    do {
        const char *from;
        int below = 0;

        if (!js_in_name(in, &name))
            return 0;
        blanks(in);
        from = in->p;
        for (size_t i = 0; i < nparts && !under; i++)
            below |= leads(&part[i], NULL, name.p, name.n) == '.';
        if (below && js_in_mark(in, '{')) {
            char *const key = xasprintf("%.*s", (int)name.n, name.p);
            const int found = find_large_parts(in, key, part, nparts);

            free(key);
            if (!found)
                return 0;
        } else if (!js_in_value(in, &ignored, &count)) {
            return 0;
        }
        for (size_t i = 0; i < nparts; i++)
            if (leads(&part[i], under, name.p, name.n) == '\0') {
                if (part[i].n > 0)
                    return 0;
                if (*from != part[i].open)
                    continue;
                part[i].p = from;
                part[i].n = (size_t)(in->p - from);
                part[i].count = count;
            }
    } while (js_in_mark(in, ','));
    return js_in_mark(in, '}');
}

json_t *
js_parse_parts(const char *text, size_t n, struct js_part *part, size_t nparts,
    struct err *e)
{
    const char *const end = text + n, *p = text;
    struct buf rest = { 0 };
    json_t *j = NULL;
    struct err other;
    struct js_in in;
    size_t found = 0;

    for (size_t i = 0; i < nparts; i++)
        part[i].n = 0;
    js_in_begin(&in, text, n);
    if (js_in_mark(&in, '{') && find_large_parts(&in, NULL, part, nparts))
        for (size_t i = 0; i < nparts; i++)
            found += part[i].n > 0;
    if (found > 0) {
        while (p < end) {
            const struct js_part *next = NULL;

            for (size_t i = 0; i < nparts; i++)
                if (part[i].n > 0 && part[i].p >= p &&
                    (!next || part[i].p < next->p))
                    next = &part[i];
            buf_add(&rest, p, (size_t)((next ? next->p : end) - p));
            p = next ? next->p + next->n : end;
            if (next)
                buf_adds(&rest, next->open == '{' ? "{}" : "[]");
        }
        j = js_parse(rest.p, rest.n, &other);
        buf_release(&rest);
    }
    if (j)
        return j;
    for (size_t i = 0; i < nparts; i++)
        part[i].n = 0;
    return js_parse(text, n, e);
}
