/* Chat templates of models: where they are found, and what messages may be. */
#include "base/io.h"
#include "base/mem.h"
#include "format/json.h"
#include "gen/chat.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define GOLDEN "tests/golden/chat"

static void
write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    fputs(text, f);
    fclose(f);
}

static json_t *
golden(const char *name)
{
    char path[300];
    struct err e;

    snprintf(path, sizeof path, GOLDEN "/%s.json", name);
    return js_load(path, JS_MAX, &e);
}

/* Open a model directory that has only the template of a golden file. */
static struct chat *
open_golden(const json_t *all, struct err *e)
{
    json_t *config = json_copy(json_object_get(all, "special"));

    mkdir("model", 0777);
    json_object_set(config, "chat_template", json_object_get(all, "template"));
    js_save(config, "model/tokenizer_config.json", e);
    json_decref(config);
    return chat_open("model", NULL, e);
}

/* The text of messages, given as JSON; or why there is none. */
static char *
text_of(const struct chat *c, const char *messages, const char *more)
{
    json_t *m = json_loads(messages, JSON_DECODE_ANY, NULL);
    json_t *v = more == NULL ? NULL : json_loads(more, 0, NULL);
    const struct chat_options o = { .more = v,
        .tools = json_object_get(v, "tools") };
    struct jinja_out out;
    struct err e;
    char *s;

    s = chat_render(c, m, &o, &out, &e) < 0
        ? xasprintf("error %d: %s", e.code, e.msg)
        : xstrdup(out.text.p);
    jinja_out_release(&out);
    json_decref(m);
    json_decref(v);
    return s;
}

static void
test_text(const struct chat *c, const char *messages, const char *more,
    const char *want, const char *what)
{
    char *s = text_of(c, messages, more);

    if (!ok(strcmp(s, want) == 0, "%s", what))
        printf("# got  %s\n# want %s\n", s, want);
    free(s);
}

static void
test_places(void)
{
    static const char hi[] = "[{\"role\": \"user\", \"content\": \"Hi\"}]";
    struct err e;
    struct chat *c;

    mkdir("d", 0777);
    write_file("d/tokenizer_config.json",
        "{\"bos_token\": {\"content\": \"<s>\"}, \"chat_template\": ["
        "{\"name\": \"tool_use\", \"template\": \"tools\"},"
        "{\"name\": \"default\", \"template\": "
        "\"{{ bos_token }}{{ eos_token }}{{ messages[0].content }}\"}]}");
    write_file("d/special_tokens_map.json", "{\"eos_token\": \"</s>\"}");
    c = chat_open("d", NULL, &e);
    ok(c != NULL, "a template is found in a list of named ones");
    test_text(c, hi, NULL, "<s></s>Hi",
        "special tokens come from both files that name them");
    test_text(c, hi, "{\"tools\": [{}]}", "tools",
        "messages with tools take the template tool_use");
    chat_free(c);
    write_file("d/chat_template.jinja", "own {{ messages[0].content }}\n");
    c = chat_open("d", NULL, &e);
    test_text(c, hi, NULL, "own Hi", "chat_template.jinja comes first");
    chat_free(c);
    write_file("t.jinja", "given {{ eos_token }}");
    c = chat_open("d/tokenizer.json", "t.jinja", &e);
    test_text(c, hi, NULL, "given </s>",
        "a given template has the model's special tokens");
    chat_free(c);
    c = chat_open("tests/golden/gguf/chat.gguf", NULL, &e);
    ok(c != NULL, "a template is found in a GGUF");
    chat_free(c);
    mkdir("n", 0777);
    ok(chat_open("n", NULL, &e) == NULL && e.code == EX_USAGE &&
            strstr(e.msg, "no chat template") != NULL,
        "a model without a template is refused");
    write_file("d/chat_template.jinja", "a\n{% nonesuch %}");
    ok(chat_open("d", NULL, &e) == NULL && e.code == EX_INPUT &&
            strstr(e.msg, "line 2") != NULL && strstr(e.msg, "nonesuch"),
        "a template that is not known here is refused by name");
}

static void
test_messages(void)
{
    static const char parts[] = "[{\"role\": \"user\", \"content\": "
                                "[{\"type\": \"text\", \"text\": \"a\"}, "
                                "{\"type\": \"text\", \"text\": \"b\"}]}]";
    json_t *all = golden("phi4"), *gemma = golden("gemma3");
    struct err e;
    struct chat *c = open_golden(all, &e);

    test_text(c, parts, NULL, "<|im_start|>user<|im_sep|>a\nb<|im_end|>",
        "parts are joined for a template that takes texts");
    test_text(c,
        "[{\"role\": \"user\", \"content\": [{\"type\": \"image_url\"}]}]",
        NULL,
        "error 3: messages[0]: content[0]: is of the type \"image_url\": the "
        "model takes text alone",
        "a part that is no text is refused");
    test_text(c, "[{\"content\": \"a\"}]", NULL,
        "error 3: messages[0]: is no object with a role",
        "a message without a role is refused");
    test_text(c, "[]", NULL, "error 3: messages is no list, or an empty one",
        "an empty list of messages is refused");
    test_text(c, "{}", NULL, "error 3: messages is no list, or an empty one",
        "messages that are no list are refused");
    chat_free(c);
    c = open_golden(gemma, &e);
    test_text(c, parts, NULL, "<bos><start_of_turn>user\nab<end_of_turn>\n",
        "parts are passed on to a template that takes them");
    chat_free(c);
    write_file("t.jinja",
        "{{ messages[0].x is defined }}{{ messages[0].thinking }}"
        "{{ messages[0].reasoning_content }}{{ enable_thinking }}");
    c = chat_open("model", "t.jinja", &e);
    test_text(c, "[{\"role\": \"user\", \"x\": null, \"reasoning\": \"y\"}]",
        "{\"enable_thinking\": false}", "FalseyyFalse",
        "null members are left out, reasoning has all its names");
    chat_free(c);
    json_decref(all);
    json_decref(gemma);
}

/* A template that walks over parts, and drops those it does not know. */
#define WALKS                                                           \
    "{% for m in messages %}<{{ m.role }}>{% if m.content is string %}" \
    "{{ m.content }}{% else %}{% for c in m.content %}"                 \
    "{% if c.type == 'text' %}{{ c.text }}"                             \
    "{% elif c.type == 'thinking' %}[{{ c.thinking }}]"                 \
    "{% endif %}{% endfor %}{% endif %}{% endfor %}"
#define SAYS(who, content) "[{\"role\": \"" who "\", \"content\": " content "}]"
#define A_PART "{\"type\": \"text\", \"text\": \"a\"}"

/* A part that a model of text cannot read is refused, whatever the template
 * does. */
static void
test_parts(void)
{
    static const struct {
        const char *messages, *want;
    } cases[] = {
        { SAYS("user", "[" A_PART "]"), "<user>a" },
        { SAYS("assistant",
              "[{\"type\": \"thinking\", \"thinking\": \"b\"}, " A_PART "]"),
            "<assistant>[b]a" },
        { SAYS("user", "[" A_PART ", {\"type\": \"image_url\"}]"),
            "messages[0]: content[1]: is of the type \"image_url\"" },
        { SAYS("user", "[{\"type\": \"image\"}]"), "of the type \"image\"" },
        { SAYS("user", "[{\"type\": \"input_audio\"}]"), "\"input_audio\"" },
        { SAYS("user", "[{\"type\": \"input_text\", \"text\": \"a\"}]"),
            "of the type \"input_text\"" },
        { SAYS("user", "[{\"type\": \"file\", \"file\": {}}]"), "\"file\"" },
        { SAYS("user", "[{\"type\": \"text\"}]"), "content[0]: has no text" },
        { SAYS("user", "[{\"type\": \"text\", \"text\": 5}]"), "has no text" },
        { SAYS("user", "[{\"text\": \"a\"}]"), "content[0]: is no {" },
        { SAYS("user", "[\"a\"]"), "content[0]: is no {" },
        { SAYS("user", "[5]"), "content[0]: is no {" },
        { SAYS("tool", "[null]"), "content[0]: is no {" },
        { SAYS("user", "5"), "content is neither" },
        { SAYS("user", A_PART), "content is neither" },
        { SAYS("user", "\"a\", \"images\": [\"x\"]"), "has images" },
        { SAYS("assistant", "\"a\", \"audio\": {\"id\": \"x\"}"), "has audio" },
        { SAYS("user", "\"a\", \"images\": [], \"audio\": null"), "<user>a" },
    };
    struct err e;
    struct chat *c;

    write_file("walks.jinja", WALKS);
    c = chat_open("model", "walks.jinja", &e);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *s = text_of(c, cases[i].messages, NULL);
        const int refused = cases[i].want[0] != '<';

        ok(refused ? strncmp(s, "error 3", 7) == 0 &&
                    strstr(s, cases[i].want) != NULL
                   : strcmp(s, cases[i].want) == 0,
            "%s is %s", cases[i].messages, refused ? "refused" : "printed");
        printf("# %s\n", s);
        free(s);
    }
    chat_free(c);
}

/* Members of a record beside its messages. */
static void
test_record_options(void)
{
    static const struct {
        const char *record, *why;
    } cases[] = {
        { "{\"tools\": [{}], \"chat_template_kwargs\": {\"x\": 1}}", NULL },
        { "{\"tools\": null, \"chat_template_kwargs\": null}", NULL },
        { "{\"tools\": {}}", "tools: is no list" },
        { "{\"chat_template_kwargs\": []}", "is no object" },
        { "{\"chat_template_kwargs\": {\"tools\": [{}]}}", "has tools" },
        { "{\"chat_template_kwargs\": {\"add_generation_prompt\": false}}",
            "has add_generation_prompt" },
        { "{\"chat_template_kwargs\": {\"chat_template\": \"x\"}}",
            "has chat_template" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *j = json_loads(cases[i].record, 0, NULL), *parsed;
        struct chat_options o = { 0 };
        struct err e = { 0 };
        const int r = chat_record_options(j, &o, &parsed, &e);

        ok(cases[i].why == NULL ? r == 0
                                : r < 0 && strstr(e.msg, cases[i].why) != NULL,
            "the record %s is %s", cases[i].record,
            cases[i].why == NULL ? "taken" : "refused");
        json_decref(parsed);
        json_decref(j);
    }
}

static void
test_reads(void)
{
    struct err e;
    struct chat *c;

    write_file("reads.jinja", "{{ reasoning_effort }}{{ my_documents }}");
    c = chat_open("model", "reads.jinja", &e);
    ok(chat_reads(c, "reasoning_effort") && !chat_reads(c, "documents") &&
            !chat_reads(c, "reasoning"),
        "a template reads the variables that it names");
    chat_free(c);
}

/* A published template becomes TRL's variant, whose texts and spans are those
 * of a golden file. */
static void
test_training(const char *name)
{
    char variant[100];
    json_t *all = golden(name), *want;
    struct err e;
    struct chat *c = open_golden(all, &e);
    const json_t *cases;
    size_t equal = 0, n;

    snprintf(variant, sizeof variant, "%s-training", name);
    want = golden(variant);
    cases = json_object_get(want, "cases");
    n = json_array_size(cases);
    ok(chat_for_training(c, &e) == 0, "%s has a variant for training", name);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_array_get(cases, i);
        const json_t *spans = json_object_get(one, "spans");
        const struct chat_options o = { .prompt =
                                            json_is_true(json_object_get(one,
                                                "add_generation_prompt")),
            .tools = json_object_get(one, "tools"),
            .more = json_object_get(one, "more") };
        struct jinja_out out;
        const int r =
            chat_render(c, json_object_get(one, "messages"), &o, &out, &e);
        size_t same = 0;

        for (size_t k = 0; r == 0 && k < out.nspan; k++)
            same += json_integer_value(json_array_get(json_array_get(spans, k),
                        0)) == (json_int_t)out.span[k].from &&
                json_integer_value(json_array_get(json_array_get(spans, k),
                    1)) == (json_int_t)out.span[k].to;
        equal += json_object_get(one, "text") == NULL
            ? r < 0
            : r == 0 && strcmp(out.text.p, js_text_of(one, "text")) == 0 &&
                same == json_array_size(spans) && same == out.nspan;
        jinja_out_release(&out);
    }
    ok(equal == n && n > 7, "%s marks what TRL marks: %zu of %zu conversations",
        name, equal, n);
    chat_free(c);
    json_decref(all);
    json_decref(want);
}

static void
test_untrained(void)
{
    struct err e;
    struct chat *c;

    write_file("t.jinja", "{% generation %}x{% endgeneration %}");
    c = chat_open("model", "t.jinja", &e);
    ok(chat_for_training(c, &e) == 0,
        "a template with generation blocks is its own for training");
    chat_free(c);
    write_file("t.jinja", "x");
    c = chat_open("model", "t.jinja", &e);
    ok(chat_for_training(c, &e) < 0 && e.code == EX_USAGE &&
            strstr(e.msg, "--template") != NULL,
        "an unknown template without marks is refused for training");
    chat_free(c);
}

int
main(void)
{
    tap_scratch();
    test_places();
    test_messages();
    test_parts();
    test_record_options();
    test_reads();
    test_training("qwen2-5");
    test_training("qwen3");
    test_training("phi3");
    test_training("phi3-5");
    test_training("llama3");
    test_training("gemma3");
    test_training("smollm2");
    test_untrained();
    return done_testing();
}
