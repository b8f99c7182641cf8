/* Questions in lines of JSON; see question.h. */
#include "question.h"
#include "base/mem.h"
#include "cli/die.h"
#include "docs/lines.h"
#include "format/json.h"
#include "text/plain.h"

#include <stdlib.h>
#include <string.h>

/* The first message with this role, among those before the first user's answer;
 * NULL: there is none. */
static const json_t *
first_message(const json_t *messages, const char *role)
{
    for (size_t i = 0; i < json_array_size(messages); i++) {
        const json_t *m = json_array_get(messages, i);
        const char *is = js_text_of(m, "role");

        if (strcmp(is, role) == 0)
            return m;
        if (strcmp(is, "system") != 0 && strcmp(is, "developer") != 0)
            return NULL;
    }
    return NULL;
}

const char *
question_text(const json_t *record, struct err *e)
{
    const json_t *messages = json_object_get(record, "messages"), *text;

    if (messages != NULL)
        text = json_object_get(first_message(messages, "user"), "content");
    else
        text = json_object_get(record, "prompt");
    if (json_is_string(text) &&
        json_string_value(text)[strspn(json_string_value(text), " \t\r\n")] !=
            '\0')
        return json_string_value(text);
    err_set(e, EX_INPUT,
        messages != NULL ? "messages do not begin with words of a user"
                         : "has neither messages nor a prompt");
    return NULL;
}

json_t *
question_messages(const char *system, const char *text, size_t n)
{
    json_t *messages =
        json_pack("[{s:s, s:s%}]", "role", "user", "content", text, n);

    if (system != NULL)
        json_array_insert_new(messages, 0,
            json_pack("{s:s, s:s}", "role", "system", "content", system));
    return messages;
}

json_t *
question_record(const json_t *like, const char *system, const char *text,
    size_t n)
{
    const json_t *old = json_object_get(like, "messages");
    const json_t *said = first_message(old, "system");
    json_t *messages;

    if (like != NULL && old == NULL)
        return json_pack("{s:s%}", "prompt", text, n);
    messages = question_messages(said == NULL ? system : NULL, text, n);
    if (said != NULL)
        json_array_insert(messages, 0, (json_t *)(uintptr_t)said);
    return json_pack("{s:o}", "messages", messages);
}

char *
question_plain(const char *text)
{
    struct buf b = { 0 };

    plain_text(text, strlen(text), &b);
    buf_adds(&b, "");
    return b.p;
}

/* ---- examples ---- */

struct examples {
    json_t *records;
    char **plain; /* [n] in the order of strcmp */
};

static int
by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Read an example, line[n]. */
static int
read_example(struct examples *x, const char *line, size_t n, const char *mark,
    struct err *e)
{
    json_t *record = js_parse(line, n, e);
    const char *text;

    if (record == NULL)
        return -1;
    json_array_append_new(x->records, record);
    if ((text = question_text(record, e)) == NULL)
        return -1;
    return strstr(text, mark) != NULL
        ? err_set(e, EX_INPUT, "holds %s, which ends an example", mark)
        : 0;
}

struct examples *
examples_open(const char *file, const char *mark)
{
    struct examples *x = xcalloc(1, sizeof *x);
    struct line_reader *in;
    struct err e;
    char *line;
    size_t n;
    int r;

    x->records = json_array();
    if ((in = lines_open(file, &e)) == NULL)
        die_err(&e);
    while ((r = lines_next(in, &line, &n, &e)) > 0)
        if (read_example(x, line, n, mark, &e) < 0)
            die(e.code, "%s: line %zu: %s", lines_name(in), lines_number(in),
                e.msg);
    if (r < 0)
        die_err(&e);
    if ((n = examples_count(x)) == 0)
        die(EX_INPUT, "%s: holds no examples", lines_name(in));
    lines_close(in);
    x->plain = xcalloc(n, sizeof *x->plain);
    for (size_t i = 0; i < n; i++)
        x->plain[i] = question_plain(examples_text(x, i));
    qsort(x->plain, n, sizeof *x->plain, by_text);
    return x;
}

void
examples_close(struct examples *x)
{
    if (x == NULL)
        return;
    for (size_t i = 0; i < examples_count(x); i++)
        free(x->plain[i]);
    free(x->plain);
    json_decref(x->records);
    free(x);
}

size_t
examples_count(const struct examples *x)
{
    return json_array_size(x->records);
}

const char *
examples_text(const struct examples *x, size_t i)
{
    struct err e;

    return question_text(json_array_get(x->records, i), &e);
}

const json_t *
examples_form(const struct examples *x)
{
    return json_array_get(x->records, 0);
}

int
examples_have(const struct examples *x, const char *text)
{
    char *plain = question_plain(text);
    const int found = bsearch(&plain, x->plain, examples_count(x),
                          sizeof *x->plain, by_text) != NULL;

    free(plain);
    return found;
}
