/* Reports as TSV and as JSON: js_parse reads what sheet.c writes, and finds the
 * values of the TSV.  With arguments, sheet FILE LIST, it prints a list of a
 * report in JSON as TSV, for the shell tests; "-" stands for null. */
#include "../lib/tap.h"
#include "base/mem.h"
#include "cli/die.h"
#include "format/json.h"
#include "format/sheet.h"

#include <string.h>

static const char *const people[] = { "name", "age", "height", NULL };
static const char *const places[] = { "place", NULL };

static void
write_report(struct buf *b, enum format format)
{
    struct sheet s;

    sheet_open(&s, b, format);
    sheet_fact(&s, "rows of people", 2);
    sheet_list(&s, "people", people);
    sheet_row(&s, TEXT("a \"b\" \\ \t\xff"), COUNT(41), NUMBER("%.3f", 1.5));
    sheet_row(&s, TEXT("nan"), COUNT(0), NUMBER("%.3f", NAN));
    sheet_list(&s, "empty", places);
    sheet_list(&s, "places", places);
    sheet_row(&s, TEXT("1e5"));
    sheet_close(&s);
}

static void
test_tsv(void)
{
    struct buf b = { 0 };

    write_report(&b, FMT_TSV);
    ok(strcmp(b.p,
           "name\tage\theight\na \"b\" \\ \\x09\\xff\t41\t1.500\nnan\t0\t-\n"
           "\nplace\n\nplace\n1e5\n") == 0,
        "TSV has heads, an empty line between lists, and - for NaN");
    buf_release(&b);
}

static void
test_json(void)
{
    struct buf b = { 0 };
    struct err e;
    json_t *j, *row;

    write_report(&b, FMT_JSON);
    j = js_parse(b.p, b.n, &e);
    if (!ok(j != NULL, "js_parse reads a report in JSON"))
        return;
    ok(json_integer_value(json_object_get(j, "rows of people")) == 2,
        "a fact is a number of the object");
    row = json_array_get(json_object_get(j, "people"), 0);
    ok(strcmp(js_text_of(row, "name"), "a \"b\" \\ \\x09\\xff") == 0,
        "a text has the characters that TSV shows");
    ok(json_integer_value(json_object_get(row, "age")) == 41 &&
            near(json_real_value(json_object_get(row, "height")), 1.5, 0, 0),
        "numbers of a row are numbers of its object");
    row = json_array_get(json_object_get(j, "people"), 1);
    ok(json_is_null(json_object_get(row, "height")),
        "a number that is not finite is null");
    ok(strcmp(js_text_of(row, "name"), "nan") == 0,
        "a text that looks like a number stays a text");
    ok(json_is_array(json_object_get(j, "empty")) &&
            json_array_size(json_object_get(j, "empty")) == 0,
        "a list without rows is an empty list");
    ok(json_array_size(json_object_get(j, "places")) == 1,
        "a second list follows the first");
    json_decref(j);
    buf_release(&b);
}

/* Print a value behind a tab, unless it is the first of its line. */
static void
print_value(const json_t *v, int first)
{
    const char *tab = first ? "" : "\t";

    if (json_is_string(v))
        printf("%s%s", tab, json_string_value(v));
    else if (json_is_null(v))
        printf("%s-", tab);
    else
        printf("%s%.12g", tab, json_number_value(v));
}

/* Print a list: the names of its first row's members, then all values. */
static int
print_list(const char *path, const char *name)
{
    struct err e;
    json_t *j = js_load(path, JS_MAX, &e), *list;

    if (j == NULL)
        die_err(&e);
    list = json_object_get(j, name);
    for (size_t i = 0; i <= json_array_size(list); i++) {
        json_t *row = json_array_get(list, i > 0 ? i - 1 : 0), *v;
        const char *key;
        int n = 0;

        json_object_foreach(row, key, v) if (i == 0)
            printf("%s%s", n++ > 0 ? "\t" : "", key);
        else print_value(v, n++ == 0);
        printf("\n");
    }
    json_decref(j);
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc == 3)
        return print_list(argv[1], argv[2]);
    test_tsv();
    test_json();
    return done_testing();
}
