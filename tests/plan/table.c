/* Tables of plan in JSON: numbers, text, and figures that do not exist. */
#include "../lib/tap.h"
#include "plan/figures.h"
#include "plan/table.h"
#include "format/json.h"

#include <string.h>

int
main(void)
{
    static const char *const cells[] = { "a", "b", "1.5", "x y", "nan", "-",
        "-inf", "1e999" };
    struct table t = { .ncol = 2 };
    struct buf b = { 0 };
    struct err e;
    json_t *j;

    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        table_add(&t, cells[i]);
    table_put(&b, &t, FORMAT_JSON);
    j = js_parse(b.p, b.n, &e);
    ok(json_array_size(j) == 3, "a table in JSON is a list of its rows");
    ok(json_real_value(json_object_get(json_array_get(j, 0), "a")) == 1.5,
        "a cell that is a number is a number in JSON");
    ok(json_is_string(json_object_get(json_array_get(j, 0), "b")),
        "a cell that is text is a string in JSON");
    ok(json_is_null(json_object_get(json_array_get(j, 1), "a")),
        "NaN is null in JSON");
    ok(json_is_null(json_object_get(json_array_get(j, 1), "b")),
        "a missing figure is null in JSON");
    ok(json_is_null(json_object_get(json_array_get(j, 2), "a")) &&
            json_is_null(json_object_get(json_array_get(j, 2), "b")),
        "infinite figures are null in JSON");
    json_decref(j);
    table_release(&t);
    buf_release(&b);
    return done_testing();
}
