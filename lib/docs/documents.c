/* Documents as JSONL; see documents.h. */
#include "docs/documents.h"
#include "docs/docs.h"
#include "docs/record.h"

#include "base/utf8.h"
#include "format/json.h"
#include "format/json_text.h"
#include "text/unicode.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char first[] = "{\"retort\":\"documents\"";
static const char last[] = "{\"retort\":\"end\"";

int
documents_begin(const char *p, size_t n)
{
    const size_t k = sizeof first - 1;

    if (memcmp(p, first, n < k ? n : k) != 0)
        return 0;
    return n < k ? -1 : 1;
}

int
documents_end(const char *p, size_t n)
{
    return n >= sizeof last - 1 && memcmp(p, last, sizeof last - 1) == 0;
}

/* Write the JSON escape of c at q; returns its length, 6 at most. */
static size_t
escape_byte(char *q, unsigned char c)
{
    static const char letter[256] = { ['"'] = '"',
        ['\\'] = '\\',
        ['\b'] = 'b',
        ['\f'] = 'f',
        ['\n'] = 'n',
        ['\r'] = 'r',
        ['\t'] = 't' };
    static const char digits[] = "0123456789abcdef";

    q[0] = '\\';
    q[1] = letter[c];
    if (q[1] != '\0')
        return 2;
    memcpy(q + 1, "u00", 3);
    q[4] = digits[c >> 4];
    q[5] = digits[c & 15];
    return 6;
}

void
documents_string(struct buf *out, const char *text, size_t n)
{
    const char *p = text, *const end = p + n;

    buf_addc(out, '"');
    while (p < end) {
        const size_t left = (size_t)(end - p);
        size_t k;

        if (out->cap - out->n < left + 7)
            buf_reserve(out, left + 6);
        k = js_copy_plain(out->p + out->n, p, left);
        out->n += k;
        p += k;
        if (p < end)
            out->n += escape_byte(out->p + out->n, (unsigned char)*p++);
    }
    buf_addc(out, '"');
}

/* Append a name, with U+FFFD for bytes that are not UTF-8. */
static void
add_shown_name(struct buf *out, const char *name)
{
    const size_t n = strlen(name);
    struct buf b = { 0 };

    if (uni_valid(name, n) == n) {
        documents_string(out, name, n);
        return;
    }
    uni_repair(name, n, &b);
    documents_string(out, b.p, b.n);
    buf_release(&b);
}

static void
add_decimal(struct buf *out, uint64_t v)
{
    char s[20];
    size_t i = sizeof s;

    do
        s[--i] = (char)('0' + v % 10);
    while ((v /= 10) > 0);
    buf_add(out, s + i, sizeof s - i);
}

static void
add_hex_hash(struct buf *out, uint64_t v)
{
    char s[18] = "\"";

    for (int i = 16; i > 0; i--, v >>= 4)
        s[i] = "0123456789abcdef"[v & 15];
    s[17] = '"';
    buf_add(out, s, sizeof s);
}

static void
add_cursor(struct buf *out, const struct doc_cursor *c)
{
    const uint64_t v[4] = { c->input, c->place.entry, c->place.record,
        c->place.at };

    for (int i = 0; i < 4; i++) {
        buf_addc(out, i ? ' ' : '"');
        add_decimal(out, v[i]);
    }
    buf_addc(out, '"');
}

void
documents_put_head(struct buf *out, const struct inputs *in,
    const struct documents_run *run)
{
    buf_addf(out, "%s,\"version\":1,\"options\":", first);
    add_hex_hash(out, run->options);
    buf_adds(out, ",\"inputs\":");
    add_hex_hash(out, run->inputs);
    buf_adds(out, ",\"from\":");
    add_cursor(out, &run->from);
    buf_adds(out, ",\"sources\":[");
    for (size_t i = 0; i < in->nsource; i++) {
        buf_adds(out, i ? "," : "");
        add_shown_name(out, in->source[i]);
    }
    buf_adds(out, "]}\n");
}

void
documents_put_place(struct buf *out, const struct doc *d, const char *source)
{
    buf_adds(out, "{\"input\":");
    add_shown_name(out, d->from->name);
    buf_adds(out, ",\"record\":");
    add_decimal(out, d->record);
    buf_adds(out, ",\"source\":");
    add_shown_name(out, source);
}

void
documents_put(struct buf *out, const struct doc *d, const char *source,
    const char *text, size_t n)
{
    documents_put_place(out, d, source);
    buf_adds(out, ",\"key\":");
    add_hex_hash(out, d->key);
    buf_adds(out, ",\"next\":");
    add_cursor(out, &d->next);
    buf_adds(out, ",\"text\":");
    documents_string(out, text, n);
    buf_adds(out, "}\n");
}

void
documents_put_end(struct buf *out)
{
    buf_adds(out, last);
    buf_adds(out, "}\n");
}

/* ---- reading ---- */

/* Parse a number of 16 hexadecimal digits. */
static int
read_hash(const struct span *s, uint64_t *v)
{
    *v = 0;
    for (size_t i = 0; i < s->n; i++) {
        const char c = s->p[i];

        if (c >= '0' && c <= '9')
            *v = *v << 4 | (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            *v = *v << 4 | (uint64_t)(c - 'a' + 10);
        else
            return -1;
    }
    return s->n == 16 ? 0 : -1;
}

/* Parse a cursor: four numbers separated by blanks. */
static int
read_place(const struct span *s, struct doc_cursor *c)
{
    uint64_t v[4] = { 0 };
    size_t k = 0, digits = 0;

    for (size_t i = 0; i < s->n; i++) {
        if (s->p[i] == ' ' && digits > 0 && k < 3) {
            k++;
            digits = 0;
        } else if (s->p[i] >= '0' && s->p[i] <= '9' && digits++ < 19) {
            v[k] = v[k] * 10 + (uint64_t)(s->p[i] - '0');
        } else {
            return -1;
        }
    }
    *c = (struct doc_cursor){ v[0], { v[1], v[2], v[3] } };
    return k == 3 && digits > 0 ? 0 : -1;
}

static int
add_sources(const json_t *j, struct inputs *in)
{
    const json_t *names = json_object_get(j, "sources"), *name;
    size_t i;

    if (!json_is_array(names))
        return -1;
    if (in->o.lang) /* --lang names the source of all text: skip these names */
        return 0;
    json_array_foreach(names, i, name)
    {
        if (!json_is_string(name))
            return -1;
        inputs_add_source(in, json_string_value(name),
            json_string_length(name));
    }
    return 0;
}

static int
read_member(const json_t *j, const char *name, struct span *s)
{
    const json_t *v = json_object_get(j, name);

    *s = (struct span){ (char *)(uintptr_t)json_string_value(v),
        v ? json_string_length(v) : 0 };
    return s->p ? 0 : -1;
}

int
documents_read_head(const char *p, size_t n, struct inputs *in,
    struct documents_run *run, struct err *e)
{
    json_t *j = js_parse(p, n, e);
    struct span s;
    size_t version;
    int bad = 0;

    if (!j)
        return -1;
    if (js_size(j, "version", 1, 1, &version, e) <= 0)
        bad = err_set(e, EX_INPUT,
            "holds documents of another version than 1, which alone is read");
    else if (add_sources(j, in) < 0 || read_member(j, "options", &s) < 0 ||
        read_hash(&s, &run->options) < 0 || read_member(j, "inputs", &s) < 0 ||
        read_hash(&s, &run->inputs) < 0 || read_member(j, "from", &s) < 0 ||
        read_place(&s, &run->from) < 0)
        bad = err_set(e, EX_INPUT,
            "offset 0: the first line of documents lacks \"sources\", "
            "\"options\", \"inputs\" or \"from\" as clean writes them");
    json_decref(j);
    return bad;
}

static int
line_error(struct doc *d, const char *name, const char *what)
{
    err_set(&d->e, EX_INPUT, "\"%s\" %s", name, what);
    return doc_err_at(d, 0);
}

int
documents_read(struct doc *d, const struct inputs *in, char *p,
    const char **text, size_t *n)
{
    static const char *const name[] = { "text", "source", "key", "next" };
    struct span s[4];
    size_t at;
    const char *why = record_fields(p, *n, name, 4, s, &at);

    if (why) {
        err_set(&d->e, EX_INPUT, "%s", why);
        return doc_err_at(d, at);
    }
    for (size_t i = 0; i < 4; i++)
        if (!s[i].p)
            return line_error(d, name[i],
                "is missing: clean gives each document one");
    if (!in->o.lang)
        d->source = inputs_source(in, s[1].p, s[1].n);
    if (d->source == in->nsource)
        return line_error(d, name[1], "is none of the first line's sources");
    if (read_hash(&s[2], &d->key) < 0)
        return line_error(d, name[2], "is not 16 hexadecimal digits");
    if (in->from_clean && read_place(&s[3], &d->next) < 0)
        return line_error(d, name[3], "is not four numbers");
    *text = s[0].p;
    *n = s[0].n;
    return 0;
}
