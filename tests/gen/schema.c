/* Schemas: documents that jsonschema allows and refuses, schemas that are
 * refused, random documents, whose hash belongs to documents that jsonschema
 * has judged (scripts/oracle/schema.py), and the tokens that may follow. */
#include "base/io.h"
#include "base/rng.h"
#include "format/ckpt.h"
#include "format/json.h"
#include "gen/mask.h"
#include "../lib/tap.h"
#include "../lib/tok_open.h"

#include <string.h>

static struct json_room room;

static struct schema *
must_schema(const json_t *j)
{
    struct err e;
    struct schema *s = schema_read(j, &e);

    if (s == NULL) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    return s;
}

/* The next line of a golden file as JSON; NULL: there are no more. */
static json_t *
next_golden(FILE **f, const char *name)
{
    static char line[1 << 16];
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/schema/%s", top, name);

    if (*f == NULL && (*f = fopen(path, "r")) == NULL) {
        printf("Bail out! %s is missing\n", path);
        exit(1);
    }
    free(path);
    if (fgets(line, sizeof line, *f) != NULL)
        return js_parse(line, strlen(line), NULL);
    fclose(*f);
    *f = NULL;
    return NULL;
}

/* ---- documents ---- */

/* How many bytes of text[n] keep it the beginning of a document?  *complete: is
 * it a whole one after these? */
static size_t
follow(const struct schema *s, const char *text, size_t n, int *complete)
{
    struct json_state state;
    size_t i = 0;

    json_state_begin(&state, s);
    json_room_load(&room, s, &state);
    while (i < n && json_room_byte(&room, 0, (unsigned char)text[i]) > 0) {
        json_room_keep(&room, 1, &state);
        json_room_load(&room, s, &state);
        i++;
    }
    *complete = json_room_complete(&room, 0);
    json_state_release(&state);
    return i;
}

/* Is the text a whole document? */
static int
allows(const struct schema *s, const char *text)
{
    int complete;

    return follow(s, text, strlen(text), &complete) == strlen(text) && complete;
}

/* Count the texts of a list that are not as `want`, and print them. */
static size_t
count_wrong(const struct schema *s, const json_t *list, int want)
{
    const json_t *v;
    size_t i, wrong = 0;

    json_array_foreach((json_t *)(uintptr_t)list, i, v)
    {
        if (allows(s, json_string_value(v)) == want)
            continue;
        printf("# wrongly %s: %s\n", want ? "refused" : "allowed",
            json_string_value(v));
        wrong++;
    }
    return wrong;
}

static void
golden_documents(void)
{
    FILE *f = NULL;
    size_t n = 0, good = 0, bad = 0, wrong[2] = { 0 };
    json_t *j;

    for (; (j = next_golden(&f, "cases.jsonl")) != NULL; n++) {
        struct schema *s = must_schema(json_object_get(j, "schema"));

        good += json_array_size(json_object_get(j, "good"));
        bad += json_array_size(json_object_get(j, "bad"));
        wrong[1] += count_wrong(s, json_object_get(j, "good"), 1);
        wrong[0] += count_wrong(s, json_object_get(j, "bad"), 0);
        schema_free(s);
        json_decref(j);
    }
    ok(n > 60 && good > 200 && wrong[1] == 0,
        "%zu documents that jsonschema allows are allowed", good);
    ok(bad > 200 && wrong[0] == 0,
        "%zu texts that jsonschema or JSON refuses are refused", bad);
}

/* Read a schema written with ' for ". */
static json_t *
quoted_json(const char *text)
{
    char *copy = xstrdup(text);
    json_t *j;
    struct err e;

    for (char *p = copy; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    if ((j = js_parse(copy, strlen(copy), &e)) == NULL) {
        printf("Bail out! %s: %s\n", copy, e.msg);
        exit(1);
    }
    free(copy);
    return j;
}

/* Does the schema allow the text, written with ' for " in both? */
static int
schema_allows(const char *schema, const char *text)
{
    json_t *j = quoted_json(schema);
    struct schema *s = must_schema(j);
    char *copy = xstrdup(text);
    int r;

    for (char *p = copy; *p != '\0'; p++)
        *p = *p == '\'' ? '"' : *p;
    r = allows(s, copy);
    free(copy);
    schema_free(s);
    json_decref(j);
    return r;
}

static void
written_form(void)
{
    static const char two[] = "{'properties': {'a': {}, 'b': {}}}";
    static const char list[] = "{'type': 'array', 'items': {'type': 'null'}}";

    ok(schema_allows(two, "{'b':1}") && schema_allows(two, "{}"),
        "a property that is not required may be left out");
    ok(!schema_allows(two, "{'b':1,'a':1}"),
        "properties are written in the schema's order");
    ok(!schema_allows(two, "{'a':1,'c':1}"),
        "only declared properties are written");
    ok(schema_allows("{'required': ['x']}", "{'x':[]}"),
        "a property that only `required` names has any value");
    ok(schema_allows("{'additionalProperties': {'type': 'integer'}}",
           "{'x':1,'y':2}"),
        "an object without declared properties has any names");
    ok(!schema_allows("{'additionalProperties': {'type': 'integer'}}",
           "{'x':null}"),
        "the values of such names are bound");
    ok(schema_allows(list, "[null,\n    null\n]") &&
            schema_allows(list, "[ null, null ]"),
        "white space is a space, or a newline and an indentation");
    ok(!schema_allows(list, "[  null]") &&
            !schema_allows(list, "[\n     null]"),
        "longer white space is refused");
    ok(!schema_allows(list, " []") && !schema_allows(list, "[] "),
        "white space around the document is refused");
    ok(!schema_allows(list, "[null ,null]"),
        "white space before a comma is refused");
    ok(schema_allows("{'type': 'number'}", "-123456789012345678.5e-10") &&
            !schema_allows("{'type': 'number'}", "1234567890123456789") &&
            !schema_allows("{'type': 'number'}", "1e100"),
        "numbers are so short that a double holds them");
    ok(!schema_allows("{'type': 'integer'}", "1.0"),
        "an integer has no fraction");
    ok(schema_allows("{'minimum': 5, 'maximum': 120}", "99.5") &&
            !schema_allows("{'minimum': 5, 'maximum': 120}", "1e2") &&
            !schema_allows("{'minimum': 5}", "5.0000001"),
        "a number with bounds has no exponent and six digits of a fraction");
    ok(!schema_allows("{'type': 'string'}", "'\\ud83d\\ude00'"),
        "a character beyond 16 bits is not written as two escapes");
    ok(schema_allows("{'minLength': 1}", "'a'") &&
            !schema_allows("{'minLength': 1}", "1"),
        "a schema without type means the type of its keywords");
    ok(schema_allows("{'enum': [1, 'a'], 'type': 'string'}", "'a'") &&
            !schema_allows("{'enum': [1, 'a'], 'type': 'string'}", "1"),
        "a constant of another type is left out");
    ok(schema_allows("{'title': 'x'}", "{'a':[1,{'b':null}]}") &&
            schema_allows("{'items': true}", "[[1,'']]"),
        "a schema without keywords allows every document");
}

/* ---- schemas that are refused ---- */

static void
refused_schemas(void)
{
    static const struct {
        const char *schema, *why;
    } bad[] = {
        { "3", "#: is no schema" },
        { "{'pattern': 'a'}", "#: the keyword pattern is not supported" },
        { "{'properties': {'a': {'multipleOf': 2}}}",
            "#/properties/a: the keyword multipleOf is not supported" },
        { "{'minimum': 2, 'maximum': 1}", "#: no number that can be written" },
        { "{'minimum': 0.1, 'maximum': 0.9, 'type': 'integer'}",
            "#: no number that can be written" },
        { "{'minimum': 1e16}", "#: no number that can be written" },
        { "{'minimum': '1'}", "#: a bound of a number is no number" },
        { "{'anyOf': [{}, {'oneOf': []}]}", "#/anyOf/1: the keyword oneOf" },
        { "{'items': {'$ref': '#/$defs/x'}, '$defs': {'x': {'format': "
          "'date'}}}",
            "#/$defs/x: the keyword format" },
        { "{'anyOf': [{}], 'type': 'string'}",
            "type is not supported beside anyOf" },
        { "{'$ref': '#', 'properties': {}}",
            "properties is not supported beside $ref" },
        { "{'enum': ['a'], 'minLength': 1}",
            "minLength is not supported beside enum or const" },
        { "{'type': 'text'}", "type: text is no type" },
        { "{'type': []}", "type is an empty list" },
        { "{'type': ['null', 'null']}",
            "type: null is no type, or is given twice" },
        { "{'type': 3}", "type: a value that is no text" },
        { "{'$ref': 'http://x/y'}", "may only name a place of this schema" },
        { "{'$ref': '#/$defs/x'}", "names #/$defs/x, which is missing" },
        { "{'$ref': '#'}", "no value is allowed" },
        { "{'$ref': '#/$defs/a', '$defs': {'a': {'anyOf': [{'$ref': "
          "'#/$defs/b'}]}, 'b': {'$ref': '#/$defs/a'}}}",
            "no value is allowed" },
        { "{'properties': {'a': {'$ref': '#'}}, 'required': ['a']}",
            "no value is allowed" },
        { "{'items': {'$ref': '#'}, 'minItems': 1}", "no value is allowed" },
        { "{'minItems': 3, 'maxItems': 2}",
            "no value has minItems 3 and maxItems 2" },
        { "{'minLength': 1, 'maxLength': 0}", "no value has minLength 1" },
        { "{'minItems': -1}", "minItems is no whole number" },
        { "{'minItems': 1, 'items': false}", "no value is allowed" },
        { "{'items': [{}]}", "items is a list of schemas" },
        { "{'enum': []}", "no value is allowed" },
        { "{'enum': [1], 'type': 'string'}", "no value is allowed" },
        { "{'enum': [1], 'const': 2}", "no value is allowed" },
        { "{'anyOf': []}", "anyOf is no list" },
        { "{'anyOf': {}}", "anyOf is no list" },
        { "{'required': 'a'}", "required is no list of names" },
        { "{'required': ['a'], 'additionalProperties': false}",
            "no value is allowed" },
        { "{'properties': []}", "properties is no object" },
        { "false", "no value is allowed" },
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_t *j = bad[i].schema[0] == '{' ? quoted_json(bad[i].schema)
            : bad[i].schema[0] == 'f'       ? json_false()
                                            : json_integer(3);
        struct err e = { 0 };
        struct schema *s = schema_read(j, &e);

        ok(s == NULL && strstr(e.msg, bad[i].why) != NULL &&
                strncmp(e.msg, "#", 1) == 0,
            "the schema %s is refused", bad[i].schema);
        printf("# %s\n", e.msg);
        schema_free(s);
        json_decref(j);
    }
}

/* ---- schemas that would take much time or memory ---- */

/* Read a schema; returns 1 if it is refused as too large. */
static int
is_too_large(const struct buf *text)
{
    struct err e = { 0 };
    json_t *j = js_parse(text->p, text->n, &e);
    struct schema *s = j != NULL ? schema_read(j, &e) : NULL;
    const int r = s == NULL &&
        (strstr(e.msg, "too large") != NULL ||
            strstr(e.msg, "alternatives") != NULL ||
            strstr(e.msg, "more than") != NULL);

    if (!r)
        printf("# %s\n", e.msg);
    schema_free(s);
    json_decref(j);
    return r;
}

static void
large_schemas(void)
{
    struct buf b = { 0 };

    buf_adds(&b, "{\"anyOf\": [");
    for (int i = 0; i < 65; i++)
        buf_addf(&b, "%s{\"type\": \"string\", \"maxLength\": %d}",
            i > 0 ? "," : "", i);
    buf_adds(&b, "]}");
    ok(is_too_large(&b), "65 alternatives are refused");
    buf_clear(&b);
    buf_adds(&b, "{\"anyOf\": [");
    for (int i = 0; i < 70000; i++)
        buf_addf(&b, "%s{}", i > 0 ? "," : "");
    buf_adds(&b, "]}");
    ok(is_too_large(&b), "70,000 schemas are refused");
    buf_clear(&b);
    /* every schema of a chain names two of the next */
    buf_adds(&b, "{\"$ref\": \"#/$defs/0\", \"$defs\": {");
    for (int i = 0; i < 40; i++)
        buf_addf(&b,
            "\"%d\": {\"anyOf\": [{\"$ref\": \"#/$defs/%d\"}, {\"$ref\": "
            "\"#/$defs/%d\"}, {\"type\": \"array\", \"items\": {\"$ref\": "
            "\"#/$defs/%d\"}}]},",
            i, i + 1, i + 1, i + 1);
    buf_adds(&b, "\"40\": {\"type\": \"null\"}}}");
    {
        json_t *j = js_parse(b.p, b.n, NULL);
        struct schema *s = must_schema(j);

        ok(allows(s, "[[[[null]]]]") && !allows(s, "[1]"),
            "alternatives that double 40 times are followed together");
        ok(schema_bytes(s) < 1 << 20, "they take less than a megabyte");
        schema_free(s);
        json_decref(j);
    }
    buf_clear(&b);
    buf_adds(&b, "{\"$ref\": \"#/$defs/0\", \"$defs\": {");
    for (int i = 0; i < 1500; i++)
        buf_addf(&b, "\"%d\": {\"items\": {\"$ref\": \"#/$defs/%d\"}},", i,
            i + 1);
    buf_adds(&b, "\"1500\": {}}}");
    ok(is_too_large(&b), "1,500 schemas named by $ref are refused");
    buf_clear(&b);
    buf_adds(&b, "{\"enum\": [");
    for (int i = 0; i < 60000; i++)
        buf_addf(&b, "%s\"word%d\"", i > 0 ? "," : "", i);
    buf_adds(&b, "]}");
    {
        json_t *j = js_parse(b.p, b.n, NULL);
        struct schema *s = must_schema(j);

        ok(allows(s, "\"word59999\"") && allows(s, "\"word5\"") &&
                !allows(s, "\"word60000\""),
            "60,000 constants are followed");
        schema_free(s);
        json_decref(j);
    }
    buf_release(&b);
}

static void
deep_documents(void)
{
    struct schema *s = schema_object();
    struct buf b = { 0 };
    int complete;
    size_t n;

    for (int i = 0; i < 100; i++)
        buf_adds(&b, "{\"\":");
    n = follow(s, b.p, b.n, &complete);
    ok(n >= (SCHEMA_DEPTH - 1) * 4 && n < SCHEMA_DEPTH * 4 + 4,
        "a document is at most %d deep", SCHEMA_DEPTH);
    b.n = (SCHEMA_DEPTH - 1) * 4;
    buf_adds(&b, "{}");
    for (int i = 1; i < SCHEMA_DEPTH; i++)
        buf_adds(&b, "}");
    ok(allows(s, b.p), "a document of that depth is allowed");
    schema_free(s);
    buf_release(&b);
}

/* ---- random documents ---- */

/* The bytes in the order in which they are tried to end a document soon. */
static unsigned char
ending_byte(size_t i)
{
    static const char first[] = "}],:\"0ftn/abcdefghijklmnopqrstuvwxyz-[{";
    const int mode = room.thread[0].mode;

    if (mode == READ_STRING || mode == READ_ANY_NAME)
        return (unsigned char)(i == 0 ? '"' : i - 1);
    return (unsigned char)(i < sizeof first - 1 ? (unsigned char)first[i]
                                                : i - (sizeof first - 1));
}

/* Write a document: `random` bytes drawn among those that may follow, then
 * those that end it soon. */
static void
write_document(const struct schema *s, uint64_t key, size_t random,
    struct buf *out)
{
    struct json_state state;

    json_state_begin(&state, s);
    for (size_t n = 0; n < 5000; n++) {
        const uint64_t draw = rng_u64(key, n);
        size_t i = 0;

        json_room_load(&room, s, &state);
        if (n >= random && json_room_complete(&room, 0))
            break;
        for (; i < 300; i++) {
            const unsigned char c = n < random && (draw & 3) != 0 && i < 256
                ? (unsigned char)rng_perm(draw, 256, i)
                : ending_byte(i);

            if (json_room_byte(&room, 0, c) > 0) {
                buf_addc(out, c);
                break;
            }
        }
        if (i == 300)
            break;
        json_room_keep(&room, 1, &state);
    }
    json_state_release(&state);
}

/* Append a document as a line of the file that schema.py reads. */
static void
add_line(struct buf *all, size_t i, const struct buf *text)
{
    buf_addf(all, "%zu\t", i);
    for (size_t k = 0; k < text->n; k++)
        buf_adds(all,
            text->p[k] == '\n'       ? "\\n"
                : text->p[k] == '\\' ? "\\\\"
                                     : (char[]){ text->p[k], '\0' });
    buf_addc(all, '\n');
}

static void
random_documents(void)
{
    const char *out = getenv("RETORT_ANSWERS");
    struct buf all = { 0 };
    FILE *f = NULL;
    size_t schemas = 0, whole = 0, n = 0;
    char hash[33];
    json_t *j;

    for (; (j = next_golden(&f, "random.jsonl")) != NULL; schemas++) {
        struct schema *s = must_schema(j);

        for (uint64_t k = 0; k < 20; k++, n++) {
            struct buf text = { 0 };

            write_document(s, rng_key(schemas, k), 10 * k, &text);
            whole += allows(s, text.p);
            add_line(&all, schemas, &text);
            buf_release(&text);
        }
        schema_free(s);
        json_decref(j);
    }
    ok(n == 2000 && whole == n, "2,000 random beginnings can be ended");
    ckpt_hash_bytes(all.p, all.n, hash);
    ok(strcmp(hash, "99855018576703e41ce3dfd8a0415fc0") == 0,
        "the documents are those that jsonschema has allowed");
    printf("# %s\n", hash);
    if (out != NULL)
        ok(io_put_file(out, all.p, all.n, NULL) == 0, "they are written");
    buf_release(&all);
}

int
main(void)
{
    golden_documents();
    written_form();
    refused_schemas();
    large_schemas();
    deep_documents();
    random_documents();
    json_room_release(&room);
    return done_testing();
}
