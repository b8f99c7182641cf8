/*
 * Ids and masks of conversations, as TRL makes them.
 * scripts/oracle/chat_mask.py wrote the golden files.
 */
#include "base/mem.h"
#include "format/json.h"
#include "gen/conversations.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define GOLDEN "tests/golden/"

static int
same_ids(const struct tok_ids *ids, const struct buf *mask, const json_t *c)
{
    const json_t *want = json_object_get(c, "ids");
    size_t same = 0;

    for (size_t i = 0; i < ids->n; i++)
        same += json_integer_value(json_array_get(want, i)) ==
            (json_int_t)ids->v[i];
    for (size_t i = 0; i < mask->n; i++)
        mask->p[i] = (char)(mask->p[i] + '0');
    if (same == ids->n && ids->n == json_array_size(want) &&
        mask->n == ids->n && strcmp(mask->p, js_text_of(c, "mask")) == 0)
        return 1;
    printf("# %zu of %zu ids\n# got  %s\n# want %s\n", same,
        json_array_size(want), mask->p, js_text_of(c, "mask"));
    return 0;
}

static void
test_case(const struct conversations *c, struct tok_scratch *s,
    const char *name, const json_t *one)
{
    char *record = json_dumps(json_object_get(one, "record"), 0);
    struct tok_ids ids = { 0 };
    struct buf mask = { 0 };
    struct err e = { 0 };
    const int r =
        conversations_encode(c, s, record, strlen(record), &ids, &mask, &e);

    if (strchr(js_text_of(one, "mask"), '1') == NULL)
        ok(r < 0 && strstr(e.msg, "nothing to learn") != NULL,
            "%s refuses a conversation without an answer: %s", name,
            js_text_of(one, "name"));
    else
        ok(r == 0 && same_ids(&ids, &mask, one),
            "%s marks the tokens that TRL marks: %s", name,
            js_text_of(one, "name"));
    if (r < 0)
        printf("# %s\n", e.msg);
    tok_ids_release(&ids);
    buf_release(&mask);
    free(record);
}

static void
test_family(const char *name)
{
    char path[300];
    struct err e = { 0 };
    struct conversations c;
    struct tokenizer *t = NULL;
    struct tok_scratch *s;
    json_t *all, *config;
    const json_t *cases;

    snprintf(path, sizeof path, GOLDEN "chatmask/%s.json", name);
    all = js_load(path, JS_MAX, &e);
    config = json_copy(json_object_get(all, "special"));
    json_object_set(config, "chat_template", json_object_get(all, "template"));
    mkdir("model", 0777);
    js_save(config, "model/tokenizer_config.json", &e);
    snprintf(path, sizeof path, "cp " GOLDEN "%s model/tokenizer.json",
        js_text_of(all, "tokenizer"));
    ok(system(path) == 0 && (t = tok_open("model", &e)) != NULL &&
            conversations_open(&c, t, "model", NULL, NULL, &e) == 0,
        "%s is opened", name);
    s = tok_scratch_new(t);
    cases = json_object_get(all, "cases");
    for (size_t i = 0; i < json_array_size(cases); i++)
        test_case(&c, s, name, json_array_get(cases, i));
    conversations_close(&c);
    tok_scratch_free(s);
    tok_free(t);
    json_decref(config);
    json_decref(all);
}

int
main(void)
{
    tap_scratch();
    test_family("qwen2-5");
    test_family("qwen3");
    test_family("smollm2");
    test_family("llama3");
    test_family("gemma3");
    test_family("phi3");
    test_family("phi3-5");
    return done_testing();
}
