/* Dates as chat templates print them, against Python's; days that are none. */
#include "format/json.h"
#include "gen/date.h"
#include "../lib/tap.h"

#include <string.h>

static void
test_golden(void)
{
    struct err e;
    json_t *all = js_load("tests/golden/chat/dates.json", JS_MAX, &e);
    const json_t *formats = json_object_get(all, "formats");
    const char *day;
    json_t *texts;

    json_object_foreach(json_object_get(all, "days"), day, texts)
    {
        struct tm t;
        int good = date_parse(day, &t, &e) == 0;

        for (size_t i = 0; good && i < json_array_size(formats); i++) {
            const char *f = json_string_value(json_array_get(formats, i));
            const char *want = json_string_value(json_array_get(texts, i));
            struct buf b = { 0 };

            good = date_format(&t, f, strlen(f), &b, &e) == 0 &&
                b.n == strlen(want) && memcmp(b.p, want, b.n) == 0;
            if (!good)
                printf("# '%s': '%.*s', not '%s'\n", f, (int)b.n,
                    b.p != NULL ? b.p : "", want);
            buf_release(&b);
        }
        ok(good, "%s is printed as Python prints it", day);
    }
    json_decref(all);
}

static void
test_formats(void)
{
    static const char wide[] = "%4000d";
    char many[401];
    struct tm t;
    struct buf b = { 0 };
    struct err e;

    memset(many, 'a', sizeof many);
    ok(date_parse("2026-01-31", &t, &e) == 0 &&
            date_format(&t, "%-s", 3, &b, &e) < 0 && e.code == EX_INPUT,
        "seconds since 1970, which depend on the zone, are refused");
    ok(date_format(&t, many, sizeof many, &b, &e) < 0 &&
            date_format(&t, wide, sizeof wide - 1, &b, &e) < 0,
        "a format or a result that is too long is refused");
    ok(date_format(&t, "%d\0%m", 5, &b, &e) < 0, "a NUL is refused");
    buf_release(&b);
}

static void
test_no_days(void)
{
    static const char *const text[] = { "", "today", "2026-1-31", "2026-02-29",
        "1900-02-29", "2026-00-10", "2026-13-01", "2026-04-31", "2026-01-00",
        "0999-01-01", "2026-01-31 ", " 2026-01-31", "2026-01-3", "26-01-31",
        "2026/01/31", "12026-01-31", "2026-01--1", "+202-01-01" };

    for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
        struct tm t;
        struct err e;

        ok(date_parse(text[i], &t, &e) < 0 && e.code == EX_USAGE,
            "'%s' is no day", text[i]);
    }
}

int
main(void)
{
    test_golden();
    test_formats();
    test_no_days();
    return done_testing();
}
