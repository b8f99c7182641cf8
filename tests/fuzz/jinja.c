/*
 * Any bytes as a chat template, rendered with a conversation.  The first byte
 * chooses the conversation.  A template that is refused says why; one that is
 * rendered twice gives the same bytes, and its spans lie in them, in order.  A
 * template of at most 1 KiB is rendered within SECONDS.
 */
#include "base/clock.h"
#include "gen/jinja.h"
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

static const char *const talks[] = {
    "{\"messages\": [{\"role\": \"user\", \"content\": \"Hi \\u00e9\"},"
    "{\"role\": \"assistant\", \"content\": \"<think>a</think> b\"}],"
    "\"add_generation_prompt\": true, \"bos_token\": \"<s>\"}",
    "{\"messages\": [{\"role\": \"system\", \"content\": \"\"},"
    "{\"role\": \"user\", \"content\": [{\"type\": \"text\","
    "\"text\": \"x\"}]}], \"tools\": [{\"type\": \"function\","
    "\"function\": {\"name\": \"f\", \"parameters\": {\"a\": [1, 2.5, null]}"
    "}}], \"eos_token\": \"</s>\"}",
    "{}",
};
enum { TALKS = sizeof talks / sizeof *talks };

#define SECONDS 15 /* processor time, for a build with sanitizers */

static json_t *variables[TALKS];

static void
check_spans(const struct jinja_out *out)
{
    size_t at = 0;

    for (size_t i = 0; i < out->nspan; i++) {
        if (out->span[i].from < at || out->span[i].to <= out->span[i].from)
            abort();
        at = out->span[i].to;
    }
    if (at > out->text.n)
        abort();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const struct tm now = { .tm_year = 126, .tm_mon = 10, .tm_mday = 27 };
    struct jinja_out one, two;
    struct err e = { 0 };
    struct jinja *t;
    const json_t *v;
    double before;
    int r;

    for (size_t i = 0; i < TALKS && variables[TALKS - 1] == NULL; i++)
        variables[i] = json_loads(talks[i], 0, NULL);
    if (n == 0)
        return 0;
    v = variables[data[0] % TALKS];
    t = jinja_parse((const char *)data + 1, n - 1, &e);
    if (t == NULL) {
        if (e.msg[0] == '\0' || e.code != EX_INPUT)
            abort();
        return 0;
    }
    before = clock_cpu();
    r = jinja_render(t, v, &now, &one, &e);
    if (n <= 1024 && clock_cpu() - before > SECONDS)
        abort();
    if (r < 0 && (e.msg[0] == '\0' || e.code != EX_INPUT))
        abort();
    check_spans(&one);
    if (jinja_render(t, v, &now, &two, &e) != r || one.text.n != two.text.n ||
        memcmp(one.text.p, two.text.p, one.text.n) != 0)
        abort();
    jinja_out_release(&one);
    jinja_out_release(&two);
    jinja_free(t);
    return 0;
}
