/* Records of JSONL: the same strings as the JSON library gives */
#include "docs/record.c"

#include "base/mem.h"
#include "base/rng.h"
#include "docs/documents.h"
#include "text/unicode.h"
#include "../lib/tap.h"

#include <jansson.h>
#include <stdlib.h>

static int
equals(const json_t *v, const struct span *s)
{
    return json_is_string(v) && json_string_length(v) == s->n &&
        memcmp(json_string_value(v), s->p, s->n) == 0;
}

/* Append all strings in v, a NUL behind each. */
static void
strings(const json_t *v, struct buf *out)
{
    const char *name;
    json_t *member;
    size_t i;

    if (json_is_string(v)) {
        buf_add(out, json_string_value(v), json_string_length(v));
        buf_addc(out, '\0');
    }
    json_array_foreach(v, i, member) strings(member, out);
    json_object_foreach((json_t *)(uintptr_t)v, name, member)
        strings(member, out);
}

/* record_strings gives the strings that the library finds.  Records with a name
 * given twice are left out, as the library keeps one of its values. */
static int
check_strings(const char *text, size_t n)
{
    json_error_t je;
    json_t *j = json_loadb(text, n,
        JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL | JSON_REJECT_DUPLICATES, &je);
    struct buf want = { 0 };
    struct span got;
    size_t at = 0;
    char *p;
    int right = 1;

    if (json_is_object(j)) {
        p = xmalloc(n);
        memcpy(p, text, n);
        strings(j, &want);
        right = !record_strings(p, n, &got, &at) && got.n == want.n &&
            memcmp(got.p, want.p ? want.p : "", got.n) == 0;
        free(p);
    }
    buf_release(&want);
    json_decref(j);
    return right;
}

/* Compare record_fields with the library.  Returns 1 if both find the members,
 * 0 if a member is missing or the text is refused and unchanged, -1 if the two
 * differ. */
static int
check(const char *text, size_t n, const char *other)
{
    json_error_t je = { .line = 0 };
    json_t *j =
        json_loadb(text, n, JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &je);
    char *p = xmalloc(n); /* no byte behind the text, so that a sanitizer sees a
                           * read beyond it */
    const char *const field[] = { "text", other };
    struct span v[2] = { { 0 } };
    size_t at = 0;
    const char *why;
    int got, right;

    /* The library refuses such numbers and NUL in a name, but JSON allows
     * them. */
    if (!j &&
        (json_error_code(&je) == json_error_numeric_overflow ||
            json_error_code(&je) == json_error_null_byte_in_key)) {
        free(p);
        return 0;
    }
    memcpy(p, text, n);
    why = record_fields(p, n, field, other ? 2 : 1, v, &at);
    right = why ? !json_is_object(j) && at <= n && memcmp(p, text, n) == 0
                : json_is_object(j) && record_is_object(text, n);
    got = !why && v[0].p && (!other || v[1].p);
    right &= why || !v[0].p == !json_is_string(json_object_get(j, "text"));
    if (!why && v[0].p)
        right &= equals(json_object_get(j, "text"), &v[0]);
    if (!why && other && v[1].p)
        right &= equals(json_object_get(j, other), &v[1]);
    free(p);
    json_decref(j);
    return right && check_strings(text, n) ? got : -1;
}

static const char *const taken[] = { "{\"text\":\"\"}",
    " { \"text\" :\t\"a b\" } ",
    "{\"id\":12,\"text\":\"x\\n\\t\\\"\\\\\\/\\b\\f\\r\",\"lang\":\"de\"}",
    "{\"text\":\"\\u00e9\\u20ac\\ud834\\udd1e\\u0000 \\u0041\\u07ff\"}",
    "{\"text\":1,\"text\":\"last\",\"x\":[1,-2.5,{\"text\":\"no\"},[]],"
    "\"y\":{},\"z\":true,\"a\":false,\"b\":null}",
    "{\"text\":\"\xc3\xa9 \xf0\x9d\x84\x9e\",\"n\":0.25,\"m\":-0}",
    "{\"\\u0074e\\u0078t\":\"escaped\",\"n\":123456789012345678901234567890}",
    "{\"n\":[1e5,-0.5E-7,2e+8,{},[],[[{\"a\":[{\"b\":{}}]}]]],\"text\":\"\"}",
    NULL };
static const char *const left[] = { "", "{", "{}", "[]", "{\"text\":1}",
    "{\"text\":\"a\"", "{\"text\":\"a}", "{\"text\":\"a\"}x",
    "{\"text\":\"\\ud834\"}", "{\"text\":\"\\udd1e\"}",
    "{\"text\":\"\\u12g4\"}", "{\"text\":\"\\x\"}", "{\"text\":\"a\\\"}",
    "{\"text\":\"a\",}", "{\"text\" \"a\"}", "{\"text\":\"a\nb\"}",
    "{\"text\":\"a\",\"n\":01}", "{\"text\":\"a\",\"n\":1.}",
    "{\"text\":\"a\",\"n\":-}", "{\"text\":\"a\",\"n\":tru}",
    "{\"text\":\"a\",\"n\":{\"b\":}}", "{\"text\":\"a\",\"n\":[1,]}",
    "{\"text\":\"a\",\"n\":[}", "{\"text\":\"a\",\"n\":{1}}",
    "{\"text\":\"a\",\"n\":1e}", "{\"text\":\"a\",\"n\":[[1]}",
    "{\"text\":\"a\",\"text\":2}", "{\"text\":\"\\ud834\\u0041\"}", NULL };

/* Put a piece of JSON in the place of up to two bytes of a record. */
static void
test_changed(void)
{
    static const char *const piece[] = { "\"", "\\", "\\u", "\\ud8", "00", "{",
        "}", "[", "]", ",", ":", "text", "\"text\"", "\"lang\"", "e5", ".", "-",
        " ", "\n", "null", "\xc3\xa9", "\\udc00", "9999999999", "" };
    size_t some = 0, all = 0;
    int bad = 0;

    for (uint64_t i = 0; i < 200000; i++) {
        const char *from = taken[rng_u64(1, 4 * i) % 8];
        const size_t n = strlen(from), at = rng_u64(1, 4 * i + 1) % (n + 1);
        const size_t cut = rng_u64(1, 4 * i + 2) % 3;
        const char *put =
            piece[rng_u64(1, 4 * i + 3) % (sizeof piece / sizeof *piece)];
        struct buf b = { 0 };
        int k;

        buf_add(&b, from, at);
        buf_adds(&b, put);
        if (at + cut < n)
            buf_adds(&b, from + at + cut);
        if (uni_valid(b.p, b.n) == b.n) {
            k = check(b.p, b.n, i % 3 == 0 ? "lang" : NULL);
            bad += k < 0;
            some += k > 0;
            all++;
        }
        buf_release(&b);
    }
    ok(bad == 0, "changed records (%zu) are taken (%zu) or refused rightly",
        all, some);
    ok(some > all / 10 && some < all,
        "some changed records are taken and some are not");
}

/* A text of stretches that need no escape and bytes that do, from the seed. */
static void
add_stretches(struct buf *b, uint64_t seed)
{
    static const char special[] = "\"\\\b\f\n\r\t\x01\x1f/\x7f";

    for (uint64_t i = 0; i < seed % 40; i++) {
        const uint64_t v = rng_u64(2, 64 * seed + i);

        for (uint64_t k = 0; k < (v & 3) * (v >> 2 & 15); k++)
            buf_adds(b, v >> 8 & 7 ? "x" : "\xc3\xa9");
        buf_addc(b, special[(v >> 16) % (sizeof special - 1)]);
    }
}

/* Texts escaped by documents_string are read back by the library and by
 * record_fields. */
static void
test_long_strings(void)
{
    int written = 1, same = 1;

    for (uint64_t seed = 0; seed < 4000; seed++) {
        struct buf text = { 0 }, line = { 0 };
        json_t *j;

        buf_reserve(&text, 1);
        add_stretches(&text, seed);
        buf_adds(&line, "{\"text\":");
        documents_string(&line, text.p, text.n);
        buf_adds(&line, ",\"n\":1}");
        j = json_loadb(line.p, line.n, 0, NULL);
        written &= equals(json_object_get(j, "text"),
            &(struct span){ text.p, text.n });
        same &= check(line.p, line.n, NULL) == 1;
        json_decref(j);
        buf_release(&text);
        buf_release(&line);
    }
    ok(written, "a text is escaped so that the library reads it");
    ok(same, "a text with escapes anywhere is read as by the library");
}

int
main(void)
{
    struct buf deep = { 0 };
    int good = 1;

    for (size_t i = 0; taken[i]; i++)
        good &= check(taken[i], strlen(taken[i]), NULL) == 1;
    ok(good, "usual records are taken");
    for (size_t i = 0; left[i]; i++)
        good &= check(left[i], strlen(left[i]), NULL) == 0;
    ok(good, "others are not");
    ok(check(taken[2], strlen(taken[2]), "lang") == 1 &&
            check(taken[2], strlen(taken[2]), "text") == 1 &&
            check(taken[2], strlen(taken[2]), "nothing") == 0,
        "two members are found");
    test_changed();
    test_long_strings();
    buf_adds(&deep, "{\"text\":\"a\",\"x\":");
    for (int i = 0; i < 100000; i++)
        buf_addc(&deep, '[');
    ok(check(deep.p, deep.n, NULL) == 0, "arrays without an end are refused");
    buf_release(&deep);
    return done_testing();
}
