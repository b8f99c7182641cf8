/* Chat templates of published models, and each part of the language, rendered
 * as jinja2 renders them; scripts/oracle/chat.py wrote the golden files. */
#include "base/clock.h"
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "gen/jinja.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define GOLDEN "tests/golden/chat"

/* 15:04:05 on a Friday, as in chat.py */
static const struct tm now = { .tm_year = 126,
    .tm_mon = 10,
    .tm_mday = 27,
    .tm_wday = 5,
    .tm_yday = 330,
    .tm_hour = 15,
    .tm_min = 4,
    .tm_sec = 5 };

static json_t *
variables(const json_t *all, const json_t *c)
{
    json_t *v = json_copy(json_object_get(all, "special"));

    json_object_update(v, json_object_get(c, "more"));
    json_object_set(v, "messages", json_object_get(c, "messages"));
    json_object_set_new(v, "tools",
        json_object_get(c, "tools") != NULL
            ? json_incref(json_object_get(c, "tools"))
            : json_null());
    json_object_set(v, "add_generation_prompt",
        json_object_get(c, "add_generation_prompt"));
    return v;
}

static int
same_spans(const struct jinja_out *out, const json_t *want)
{
    int same = out->nspan == json_array_size(want);

    for (size_t i = 0; same && i < out->nspan; i++) {
        const json_t *span = json_array_get(want, i);

        same = json_integer_value(json_array_get(span, 0)) ==
                (json_int_t)out->span[i].from &&
            json_integer_value(json_array_get(span, 1)) ==
                (json_int_t)out->span[i].to;
    }
    return same;
}

/* Is the outcome that of the golden case? */
static int
as_wanted(int r, const struct jinja_out *out, const struct err *e,
    const json_t *c)
{
    const json_t *text = json_object_get(c, "text");
    const char *refused = js_text_of(c, "refused");

    if (text == NULL) {
        if (r < 0 && strstr(e->msg, refused) == NULL)
            printf("# refused: %s\n", e->msg);
        return r < 0 && strstr(e->msg, refused) != NULL;
    }
    if (r < 0) {
        printf("# %s\n", e->msg);
        return 0;
    }
    if (out->text.n == json_string_length(text) &&
        memcmp(out->text.p, json_string_value(text), out->text.n) == 0)
        return same_spans(out, json_object_get(c, "spans"));
    printf("# got  %s\n# want %s\n", out->text.p, json_string_value(text));
    return 0;
}

static void
test_template(const char *file)
{
    char path[300];
    struct err e = { 0 };
    struct jinja *t;
    json_t *all;
    const json_t *cases, *text;

    snprintf(path, sizeof path, GOLDEN "/%s", file);
    all = js_load(path, JS_MAX, &e);
    text = json_object_get(all, "template");
    t = jinja_parse(json_string_value(text), json_string_length(text), &e);
    ok(t != NULL, "the template of %s is read", file);
    if (t == NULL)
        printf("# %s\n", e.msg);
    cases = json_object_get(all, "cases");
    for (size_t i = 0; t != NULL && i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        json_t *v = variables(all, c);
        struct jinja_out out;
        const int r = jinja_render(t, v, &now, &out, &e);

        ok(as_wanted(r, &out, &e, c), "%s renders as jinja2 does: %s", file,
            js_text_of(c, "name"));
        jinja_out_release(&out);
        json_decref(v);
    }
    jinja_free(t);
    json_decref(all);
}

static void
test_templates(void)
{
    struct dir_list l = { 0 };
    struct err e;

    ok(dir_list(GOLDEN, &l, &e) == 0 && l.n > 20,
        "golden files of more than 20 templates are there");
    for (size_t i = 0; i < l.n; i++)
        if (strcmp(l.name[i], "snippets.json") != 0)
            test_template(l.name[i]);
    dir_list_release(&l);
}

/* A template as the name of a test. */
static const char *
one_line(const char *s)
{
    static char line[300];

    snprintf(line, sizeof line, "%s", s);
    for (char *p = line; *p != '\0'; p++)
        if (*p == '\n' || *p == '\r' || *p == '#')
            *p = '|';
    return line;
}

/* Each part of the language in a template of one line, and random templates.  A
 * template that jinja2 refuses must be refused, for any reason. */
static void
test_snippets(const char *path)
{
    struct err e;
    json_t *all = js_load(path, JS_MAX, &e);
    const json_t *cases = json_object_get(all, "cases");
    json_t *v = json_object_get(all, "variables") != NULL
        ? json_incref(json_object_get(all, "variables"))
        : json_pack("{s:O, s:n, s:b}", "messages",
              json_object_get(all, "messages"), "tools",
              "add_generation_prompt", 0);

    ok(json_array_size(cases) > 90, "%s has more than 90 templates", path);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        json_t *c = json_array_get(cases, i);
        const json_t *text = json_object_get(c, "template");
        struct jinja *t =
            jinja_parse(json_string_value(text), json_string_length(text), &e);
        struct jinja_out out = { 0 };
        const int r = t == NULL ? -1 : jinja_render(t, v, &now, &out, &e);

        if (json_object_get(c, "refused") != NULL)
            json_object_set_new(c, "refused", json_string(""));
        ok(as_wanted(r, &out, &e, c), "jinja2 agrees about %zu, %s", i,
            one_line(json_string_value(text)));
        jinja_out_release(&out);
        jinja_free(t);
    }
    json_decref(v);
    json_decref(all);
}

/* Parse and render a template without variables.  NULL: it is refused, and *e
 * says why. */
static char *
rendered(const char *template, struct err *e)
{
    struct jinja *t = jinja_parse(template, strlen(template), e);
    json_t *v = json_object();
    struct jinja_out out = { 0 };
    const int r = t == NULL ? -1 : jinja_render(t, v, NULL, &out, e);
    char *text = r < 0 ? NULL : xstrdup(out.text.p);

    jinja_out_release(&out);
    jinja_free(t);
    json_decref(v);
    return text;
}

/* A construct of jinja2 that retort lacks is refused by its name and line. */
static void
test_refusals(void)
{
    static const struct {
        const char *template, *says;
    } t[] = { { "\n{% do x %}", "line 2: the statement \"do\"" },
        { "{% include 'x' %}", "\"include\"" },
        { "{{ 1 | xmlattr }}", "filter \"xmlattr\"" },
        { "{{ 1 is sameas 1 }}", "test \"sameas\"" },
        { "{{ 'x'.center(9) }}", "method \"center\"" },
        { "{% filter center %}{% endfilter %}", "filter \"center\"" },
        { "{{ [3]|map('center')|list }}", "map" },
        { "{{ [3]|select('lower')|list }}", "test \"lower\"" },
        { "{% macro f() %}{{ varargs }}{% endmacro %}", "varargs" },
        { "{{ joiner is defined }}", "function \"joiner\"" },
        { "{{ '{:>9}'.format(1) }}", "{:>9}" },
        { "{{ '%s' % 1 }}", "a text % a whole number" },
        { "{{ [[1, 2], [1, 3]]|sort(attribute='0,1') }}", "several" },
        { "{{ [(1, 2)]|unique|list }}", "unique of a tuple" },
        { "{{ cycler(1) }}", "function \"cycler\"" },
        { "{{ strftime_now(1) }}", "takes a text" },
        { "{{ {1: 2} }}", "whole number as a name" },
        { "{{ [1] }}", "a list is printed" },
        { "{% for x in [1] recursive %}{% endfor %}", "recursive" },
        { "{% for x in [1] %}{{ loop.cycle(1) }}{% endfor %}", "cycle" },
        { "{% for x in [1] %}{% macro f() %}{% endmacro %}{% endfor %}",
            "macro inside a loop" },
        { "{% macro f() %}{% generation %}{% endgeneration %}{% endmacro %}",
            "generation inside a macro" },
        { "{% with %}{% macro f() %}{% endmacro %}{% endwith %}",
            "macro inside a loop" },
        { "{{ 'x'.__class__() }}", "\"__class__\"" },
        { "{{ {'a': 1}.items }}", "\"items\" is not called" },
        { "{{ 'é'|upper }}", "ASCII" },
        { "{{ range(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, "
          "17) }}",
            "more than 16 arguments" },
        { "{% macro m() %}{% endmacro %}{% call m(1, 2, 3, 4, 5, 6, 7, 8, 9, "
          "10, 11, 12, 13, 14, 15, 16) %}{% endcall %}",
            "more than 15 arguments" },
        { "{% set n = namespace() %}{% macro m() %}{% set n.c = caller %}"
          "{% endmacro %}{% call m() %}x{% endcall %}{{ n.c() }}",
            "a caller is called" } };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct err e = { 0 };
        char *text = rendered(t[i].template, &e);

        ok(text == NULL && strstr(e.msg, t[i].says) != NULL &&
                e.code == EX_INPUT,
            "a template is refused by name: %s", one_line(t[i].template));
        if (text != NULL || strstr(e.msg, t[i].says) == NULL)
            printf("# %s\n", text != NULL ? text : e.msg);
        free(text);
    }
}

/* strftime_now is defined even without a date, as in transformers: a template
 * that tests for it and has a fallback asks for the date too. */
static void
test_date(void)
{
    static const struct {
        const char *template;
        const char *prints; /* NULL: the date is missing */
    } t[] = { { "{{ strftime_now('%Y') }}", NULL },
        { "{% if strftime_now is defined %}{{ strftime_now('%Y') }}"
          "{% else %}2024{% endif %}",
            NULL },
        { "{% if date_string is defined %}{{ strftime_now('%Y') }}"
          "{% else %}2024{% endif %}",
            "2024" } };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct err e = { 0 };
        char *text = rendered(t[i].template, &e);

        ok(t[i].prints == NULL
                ? text == NULL && e.code == EX_USAGE && strstr(e.msg, "--date")
                : text != NULL && strcmp(text, t[i].prints) == 0,
            "without a date, a template that %s: %s",
            t[i].prints == NULL ? "asks for it is refused" : "has one is taken",
            one_line(t[i].template));
        free(text);
    }
}

/* Templates that would run on, grow or nest without end. */
static void
test_limits(void)
{
    static const struct {
        const char *template, *says, *what;
    } t[] = { { "{% for a in range(9999999) %}{% for b in range(9999999) %}"
                "{% endfor %}{% endfor %}",
                  "too much time", "loops in loops" },
        { "{% set n = namespace(s='xxxxxxxx') %}{% for i in range(60) %}"
          "{% set n.s = n.s + n.s %}{% endfor %}",
            "too much memory", "a text doubled 60 times" },
        { "{% set n = namespace(s=[1]) %}{% for i in range(60) %}"
          "{% set n.s = n.s + n.s %}{% endfor %}",
            "too much", "a list doubled 60 times" },
        { "{{ 'xxxxxxxx' * 9999999999 }}", "too much memory",
            "a text of 80 GB" },
        { "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}", "too deep",
            "a macro without an end" },
        { "{% set n = namespace(s=[]) %}{% for i in range(9999) %}"
          "{% set n.s = [n.s] %}{% endfor %}{{ n.s|tojson }}",
            "tojson", "lists in lists" },
        { "{% set n = namespace(s=[]) %}{% for i in range(9999) %}"
          "{% set n.s = [n.s] %}{% endfor %}{{ n.s == [n.s] }}",
            "too much time", "a comparison of lists in lists" },
        { "{% set x = 'xxxxxxxxxxxxxxxx' * 65536 %}{% for i in range(99) %}"
          "{{ x }}{% endfor %}",
            "prints too much", "output of 100 MB" },
        { "{% set a = 'a' * 4000000 %}{{ 'a' * 2000000 ~ 'b' in a }}",
            "too much time", "a text searched in a longer one" },
        { "{% set a = 'a' * 4000000 %}{% set b = 'a' * 2000000 ~ 'b' %}"
          "{{ a.replace(b, 'c') }}",
            "too much time", "a text to replace in a longer one" },
        { "{% set a = 'a' * 4000000 %}{% set b = 'a' * 2000000 ~ 'b' %}"
          "{{ a.rsplit(b) }}",
            "too much time", "a text to split at, from the end" },
        { "{% set a = 'a' * 4000000 %}{% set b = 'b' * 4000000 ~ 'a' %}"
          "{{ a.strip(b) }}",
            "too much time", "many characters to strip" },
        { "{{ 'a' * 268435456 }}", "too much memory", "a text of 256 MiB" },
        { "{{ ('a\n' * 99999)|indent(99999) }}", "too much",
            "lines indented by far" },
        { "{{ [1] * 4611686018427387904 }}", "too much memory",
            "a list repeated" },
        { "{% set x = 'a' * 9999 %}{{ x.replace('', x) }}", "too much memory",
            "a text put between characters" },
        { "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(40) %}"
          "{% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}"
          "{{ n.l == n.m }}",
            "too much time", "a comparison of lists that share parts" },
        { "{% set n = namespace(l=[1], m=[1]) %}{% for i in range(40) %}"
          "{% set n.l = [n.l, n.l] %}{% set n.m = [n.m, n.m] %}{% endfor %}"
          "{{ [n.l, n.m]|sort|length }}",
            "too much time", "lists that share parts, sorted" },
        { "{% set n = namespace(l=[1]) %}{% for i in range(40) %}"
          "{% set n.l = [n.l, n.l] %}{% endfor %}{{ n.l|tojson(indent=16) }}",
            "too much", "JSON of a list that shares parts" },
        { "{% set l = range(99999)|list %}{{ l|unique|list|length }}",
            "too much time", "many elements, each once" },
        { "{% set t = ' ' * 100000 ~ '1' %}{% for i in range(99999) %}"
          "{% set x = t|int %}{% endfor %}",
            "too much time", "a number after many spaces" },
        { "{% set t = 'a' * 100000 %}{% for i in range(99999) %}"
          "{% set x = []|sort(attribute=t) %}{% endfor %}",
            "too much time", "a long name of an attribute to sort by" },
        { "{% macro f() %}{{ 'a' * 1000000 }}{{ f() }}{% endmacro %}{{ f() }}",
            "too much", "a text in each of 100 macros" },
        { "{% macro f(n) %}{% call f(n) %}{{ caller() }}{% endcall %}"
          "{{ caller() }}{% endmacro %}{% call f(1) %}{% endcall %}",
            "too deep", "a call in a call without an end" } };
    struct buf b = { 0 };
    struct err e;
    char *text;

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        text = rendered(t[i].template, &e);
        ok(text == NULL && strstr(e.msg, t[i].says) != NULL,
            "a template is ended: %s", t[i].what);
        free(text);
    }
    text = rendered("{{ '' * 999999999999999999 }}", &e);
    ok(text != NULL && text[0] == '\0', "an empty text can be repeated often");
    free(text);
    buf_adds(&b, "{{ ");
    for (size_t i = 0; i < 100000; i++)
        buf_adds(&b, "(");
    buf_adds(&b, "1");
    for (size_t i = 0; i < 100000; i++)
        buf_adds(&b, ")");
    buf_adds(&b, " }}");
    text = rendered(b.p, &e);
    ok(text == NULL && strstr(e.msg, "too deep") != NULL,
        "a template is refused for 100,000 brackets");
    buf_clear(&b);
    buf_adds(&b, "{{ 1");
    for (size_t i = 0; i < 100000; i++)
        buf_adds(&b, "+1");
    buf_adds(&b, " }}");
    text = rendered(b.p, &e);
    ok(text == NULL && strstr(e.msg, "too deep") != NULL,
        "a template is ended in a sum of 100,000 numbers");
    buf_release(&b);
}

/* The most memory that this process has had, in MiB. */
static double
peak_memory(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024.0;
}

/* Each new name in an object or scope is compared with all others there, and
 * these comparisons count as work. */
static void
test_many_names(void)
{
    static const struct {
        const char *before, *each, *after, *what;
    } t[] = { { "{{ {", "'n%zu': 1,", "} }}", "a literal of 40,000 names" },
        { "", "{%% set n%zu = 1 %%}", "", "40,000 variables" },
        { "{% set s = namespace() %}", "{%% set s.n%zu = 1 %%}", "",
            "a namespace of 40,000 names" } };
    struct buf b = { 0 };
    struct err e;
    char *text;

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        buf_clear(&b);
        buf_adds(&b, t[i].before);
        for (size_t k = 0; k < 40000; k++) {
            char s[40];

            snprintf(s, sizeof s, t[i].each, k);
            buf_adds(&b, s);
        }
        buf_adds(&b, t[i].after);
        text = rendered(b.p, &e);
        ok(text == NULL && strstr(e.msg, "too much time") != NULL,
            "a template is ended: %s", t[i].what);
        free(text);
    }
    buf_release(&b);
}

/* The names given by the caller are not compared with each other. */
static void
test_given_names(void)
{
    static const char template[] = "{{ n99999 }}";
    struct err e = { 0 };
    struct jinja *t = jinja_parse(template, strlen(template), &e);
    json_t *v = json_object();
    struct jinja_out out;
    const double before = clock_now();
    int r;

    for (size_t i = 0; i < 100000; i++) {
        char s[40];

        snprintf(s, sizeof s, "n%05zu", i);
        json_object_set_new(v, s, json_integer(7));
    }
    r = jinja_render(t, v, NULL, &out, &e);
    ok(r == 0 && strcmp(out.text.p, "7") == 0 && clock_now() - before < 5,
        "100,000 variables are given in less than 5 s");
    jinja_out_release(&out);
    jinja_free(t);
    json_decref(v);
}

/* A template may keep the variable `loop` when the loop has ended. */
static void
test_kept_loop(void)
{
    struct err e = { 0 };
    char *text = rendered("{% set n = namespace() %}{% for i in [1, 2] %}"
                          "{% set n.l = loop %}{% endfor %}{{ n.l.length }}",
        &e);

    ok(text != NULL && strcmp(text, "2") == 0,
        "a loop that has ended still has its members");
    free(text);
}

int
main(void)
{
    tap_scratch();
    test_templates();
    test_snippets(GOLDEN "/snippets.json");
    test_snippets("tests/golden/jinja/random.json");
    test_refusals();
    test_date();
    test_limits();
    ok(peak_memory() < 600, "no template took more than 600 MiB");
    test_many_names();
    test_given_names();
    test_kept_loop();
    return done_testing();
}
