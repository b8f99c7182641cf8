/*
 * Render templates for jinja.py.  Standard input has an object a line:
 * "template" and "variables".  A line of output has "text" or "refused".
 * cc -std=c17 -D_POSIX_C_SOURCE=200809L -Ilib scripts/oracle/jinja_render.c \
 *     build/libretort.a -ljansson ... -o FILE
 */
#include "format/json.h"
#include "gen/jinja.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *
rendered_line(const json_t *asked, struct jinja *t, struct err *e)
{
    const struct tm now = { .tm_year = 126, .tm_mon = 10, .tm_mday = 27 };
    struct jinja_out out = { 0 };
    json_t *a;

    if (t == NULL ||
        jinja_render(t, json_object_get(asked, "variables"), &now, &out, e) < 0)
        a = json_pack("{s:s}", "refused", e->msg);
    else
        a = json_pack("{s:s%}", "text", out.text.p, out.text.n);
    jinja_out_release(&out);
    return a;
}

int
main(void)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;

    while ((n = getline(&line, &cap, stdin)) > 0) {
        struct err e = { 0 };
        json_t *asked = json_loadb(line, (size_t)n, 0, NULL);
        const char *text = js_text_of(asked, "template");
        struct jinja *t = jinja_parse(text, strlen(text), &e);
        json_t *a = rendered_line(asked, t, &e);

        json_dumpf(a, stdout, JSON_ENSURE_ASCII);
        putchar('\n');
        jinja_free(t);
        json_decref(a);
        json_decref(asked);
    }
    free(line);
    return 0;
}
