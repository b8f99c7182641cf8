/*
 * Records of JSONL; see record.h.  A first pass checks the whole object without
 * changing it; the second pass decodes, and cannot fail.
 */
#include "docs/record.h"

#include "base/utf8.h"
#include "format/json.h"
#include "format/json_text.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define MOST_NAMES 8 /* names in a list of record_names, at most */
#define MOST_NAME 64 /* bytes of a name in that list, at most */

/* Begin to parse p[n], skipping a byte order mark, as RFC 8259 allows.  A file
 * may begin with a mark, so concatenated files have marks inside. */
static void
open_record(struct js_in *in, const char *p, size_t n)
{
    const size_t mark = utf8_mark(p, n);

    js_in_begin(in, p + mark, n - mark);
}

/* Does the string s, which may have escapes, equal `want`? */
static int
spells_field(const struct js_string *s, const char *want)
{
    const char *p = s->p, *end = p + s->n;
    size_t n, len, k, i = 0;
    char c[4];

    if (!s->escapes)
        return strncmp(want, p, s->n) == 0 && want[s->n] == '\0';
    n = strlen(want);
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

static int
record_wrong(struct js_in *in, const char *why)
{
    in->why = why;
    return 0;
}

/* Parse an object that nothing follows.  out[k]: the members want[k], with p
 * NULL if there is none or it is not a string. */
static int
read_object(struct js_in *in, const char *const *want, size_t k,
    struct js_string *out)
{
    struct js_string member, text;
    size_t count;

    if (!js_in_mark(in, '{'))
        return record_wrong(in, "is no object");
    if (!js_in_mark(in, '}')) {
        do {
            if (!js_in_name(in, &member) || !js_in_value(in, &text, &count))
                return 0;
            for (size_t i = 0; i < k; i++)
                if (want[i] && spells_field(&member, want[i]))
                    out[i] = text;
        } while (js_in_mark(in, ','));
        if (!js_in_mark(in, '}'))
            return record_wrong(in,
                "neither a comma nor the end of the object");
    }
    return js_in_done(in) || record_wrong(in, "more follows the object");
}

/* Decode a string of the record in place. */
static struct span
decoded(const struct js_string *s)
{
    struct span t = { (char *)(uintptr_t)s->p, s->n };

    if (s->p && s->escapes)
        t.n = js_unescape(s->p, s->n, t.p);
    return t;
}

static const char *
what_is_wrong(const struct js_in *in, const char *p, size_t *at)
{
    *at = (size_t)(in->p - p);
    return in->p == in->end ? "the record ends too early" : in->why;
}

const char *
record_fields(char *p, size_t n, const char *const *field, size_t k,
    struct span *value, size_t *at)
{
    struct js_string out[RECORD_FIELDS] = { 0 };
    struct js_in in;

    assert(k <= RECORD_FIELDS);
    open_record(&in, p, n);
    if (!read_object(&in, field, k, out))
        return what_is_wrong(&in, p, at);
    for (size_t i = 0; i < k; i++) {
        size_t same = 0;

        while (same < i && out[same].p != out[i].p)
            same++;
        value[i] = same < i ? value[same] : decoded(&out[i]);
    }
    return NULL;
}

void
record_names(const char *p, size_t n, struct buf *out)
{
    struct js_string name, text;
    size_t count, names = 0;
    struct js_in in;
    char shown[MOST_NAME];

    open_record(&in, p, n);
    if (!js_in_mark(&in, '{'))
        return;
    while (js_in_name(&in, &name) && js_in_value(&in, &text, &count)) {
        if (text.p && name.n < sizeof shown) {
            if (names++ == MOST_NAMES) {
                buf_adds(out, ", ...");
                return;
            }
            count = js_unescape(name.p, name.n, shown);
            buf_addf(out, "%s\"%.*s\"", names > 1 ? ", " : "", (int)count,
                shown);
        }
        if (!js_in_mark(&in, ','))
            return;
    }
}

const char *
record_strings(char *p, size_t n, struct span *text, size_t *at)
{
    struct js_string s;
    struct js_in in;

    open_record(&in, p, n);
    if (!read_object(&in, NULL, 0, NULL))
        return what_is_wrong(&in, p, at);
    *text = (struct span){ p, 0 };
    for (in.p = p; in.p < in.end; in.p++) {
        if (*in.p != '"')
            continue;
        js_in_string(&in, &s);
        if (!js_in_mark(&in, ':')) {
            text->n += js_unescape(s.p, s.n, p + text->n);
            p[text->n++] = '\0';
        }
        in.p--; /* else the loop would step over the next byte, which may be a
                 * quote */
    }
    return NULL;
}

int
record_is_object(const char *p, size_t n)
{
    struct js_in in;

    open_record(&in, p, n);
    return read_object(&in, NULL, 0, NULL);
}

int
record_begins_object(const char *p, size_t n)
{
    struct js_string name;
    struct js_in in;

    open_record(&in, p, n);
    return (js_in_mark(&in, '{') && js_in_name(&in, &name)) ||
        record_is_object(p, n);
}
