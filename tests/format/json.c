/* JSON: texts that are refused, and the limits of numbers, nesting and size. */
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "../lib/tap.h"

#include <math.h>
#include <string.h>

static void
test_limits(void)
{
    static const char huge[] =
        "{\"a\":1000000000000000019884624838656,"
        "\"b\":[-9223372036854775809,7],\"99999999999999999999\":1}";
    struct err e = { 0 };
    struct buf b = { 0 };
    json_t *j;

    ok(!js_parse("{\"a\":1,\"a\":2}", 13, &e) && strstr(e.msg, "offset"),
        "a key that an object has twice is refused: %s", e.msg);
    ok(!js_parse("{\"a\":NaN}", 9, &e), "NaN is refused: %s", e.msg);
    ok(!js_parse("{\"a\":1}x", 8, &e), "text behind an object is refused: %s",
        e.msg);
    j = js_parse(huge, strlen(huge), &e);
    ok(j && fabs(json_real_value(json_object_get(j, "a")) / 1e30 - 1) < 1e-12 &&
            json_real_value(json_array_get(json_object_get(j, "b"), 0)) <
                -9e18 &&
            json_integer_value(json_array_get(json_object_get(j, "b"), 1)) ==
                7 &&
            json_object_get(j, "99999999999999999999"),
        "whole numbers beyond 64 bits are read as reals");
    json_decref(j);
    ok(!js_parse("[1e999]", 7, &e), "a number beyond a double is refused: %s",
        e.msg);
    ok(!js_parse("", 0, &e), "an empty text is refused: %s", e.msg);
    for (int i = 0; i < JS_DEPTH; i++)
        buf_addc(&b, '[');
    for (int i = 0; i < JS_DEPTH; i++)
        buf_addc(&b, ']');
    j = js_parse(b.p, b.n, &e);
    ok(j != NULL, "64 nested lists are read");
    json_decref(j);
    buf_clear(&b);
    for (int i = 0; i < 1000000; i++)
        buf_addc(&b, '[');
    ok(!js_parse(b.p, b.n, &e) && strstr(e.msg, "nested deeper"),
        "a million nested lists are refused: %s", e.msg);
    buf_clear(&b);
    buf_adds(&b, "[\"");
    for (int i = 0; i < 100; i++)
        buf_adds(&b, "[{\\\"");
    buf_adds(&b, "\"]");
    j = js_parse(b.p, b.n, &e);
    ok(j != NULL, "brackets in a string are not counted as nested");
    json_decref(j);
    buf_release(&b);
    ok(!js_parse("[Infinity]", 10, &e), "Infinity is refused: %s", e.msg);
    ok(io_put_file("big.json", "[1,2,3,4]", 9, &e) == 0 &&
            !js_load("big.json", 8, &e),
        "a file that is too long is refused: %s", e.msg);
    j = js_load("big.json", 9, &e);
    ok(j != NULL, "a file of the largest size is read");
    json_decref(j);
    remove("big.json");
    ok(!js_load("none.json", 8, &e) && e.code == EX_SYS,
        "a missing file is an error of the system: %s", e.msg);
    ok(!js_load(".", 8, &e), "a folder is refused: %s", e.msg);
}

static void
test_digits(void)
{
    json_t *j = json_pack("{s:f, s:f, s:s%}", "a", 0.7, "b", 1.0 / 3.0, "c",
        "\0", (size_t)1);
    char *s;

    s = js_dumps(j, JSON_COMPACT);
    ok(strcmp(s,
           "{\"a\":0.69999999999999996,\"b\":0.33333333333333331,"
           "\"c\":\"\\u0000\"}") == 0,
        "numbers have the digits that all of them need");
    free(s);
    json_object_del(j, "b");
    s = js_dumps(j, 0);
    ok(strcmp(s, "{\"a\": 0.7, \"c\": \"\\u0000\"}") == 0,
        "numbers have no digits that none of them needs: %s", s);
    free(s);
    json_decref(j);
}

int
main(void)
{
    test_limits();
    test_digits();
    return done_testing();
}
