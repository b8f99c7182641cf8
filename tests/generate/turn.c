/* The place of a user's words in chat templates, as transformers finds it,
 * which texts a template's marks forbid, and which examples a draw is shown. */
#include "base/mem.h"
#include "format/json.h"
#include "generate/asker.h"
#include "generate/sift.h"
#include "generate/turn.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define TOKENIZER "tests/golden/gguf/f32-hf" /* <|im_start|>, <|im_end|> */

static json_t *
load(const char *path)
{
    struct err e;
    json_t *j = js_load(path, JS_MAX, &e);

    if (j == NULL)
        printf("# %s\n", e.msg);
    return j;
}

/* Open the template of tests/golden/chat/NAME.json. */
static struct chat *
open_template(const char *name)
{
    char *path = xasprintf("tests/golden/chat/%s.json", name);
    json_t *all = load(path);
    json_t *config = json_copy(json_object_get(all, "special"));
    struct chat *c;
    struct err e;

    mkdir("model", 0777);
    json_object_set(config, "chat_template", json_object_get(all, "template"));
    js_save(config, "model/tokenizer_config.json", &e);
    c = chat_open("model", NULL, &e);
    json_decref(config);
    json_decref(all);
    free(path);
    return c;
}

/* A golden case: `want` is {before, after} or {refused}. */
static void
test_case(const struct chat *c, const char *system, const json_t *want,
    const char *name)
{
    /* the golden file's clock */
    const struct tm now = { .tm_year = 126, .tm_mon = 10, .tm_mday = 27 };
    const char *refused = json_string_value(json_object_get(want, "refused"));
    struct user_turn t;
    struct err e = { 0 };
    const int r = turn_find(&t, c, system, &now, &e);

    if (refused != NULL) {
        ok(r < 0 && strstr(e.msg, refused) != NULL,
            "%s refuses a message, with its own words", name);
    } else {
        const int same = r == 0 &&
            strcmp(t.before.p, js_text_of(want, "before")) == 0 &&
            strcmp(t.after.p, js_text_of(want, "after")) == 0;

        ok(same, "%s is cut where transformers prints a user's words, %s", name,
            system != NULL ? "after a system message" : "without one");
        if (!same)
            printf("# %s|%s|%s\n", e.msg, r < 0 ? "" : t.before.p,
                r < 0 ? "" : t.after.p);
    }
    turn_release(&t);
}

static void
test_golden(void)
{
    json_t *golden = load("tests/golden/turn.json"), *cases;
    const char *system = js_text_of(golden, "system"), *name;
    size_t n = 0;

    json_object_foreach(json_object_get(golden, "templates"), name, cases)
    {
        struct chat *c = open_template(name);

        test_case(c, NULL, json_object_get(cases, "alone"), name);
        test_case(c, system, json_object_get(cases, "system"), name);
        chat_free(c);
        n++;
    }
    ok(n > 15, "%zu templates are compared with transformers", n);
    json_decref(golden);
}

/* A template of a test, from its text. */
static struct chat *
parse_template(const char *text)
{
    FILE *f = fopen("t.jinja", "w");
    struct err e;

    fputs(text, f);
    fclose(f);
    return chat_open("model", "t.jinja", &e);
}

static void
test_refused(void)
{
    struct chat *none = parse_template("a"),
                *twice = parse_template(
                    "{{ messages[0].content }}{{ messages[0].content }}");
    struct user_turn t;
    struct err e;

    ok(turn_find(&t, none, NULL, NULL, &e) < 0 && e.code == EX_INPUT &&
            strstr(e.msg, "does not print") != NULL,
        "a template that drops a user's words is refused");
    turn_release(&t);
    ok(turn_find(&t, twice, NULL, NULL, &e) < 0 && e.code == EX_INPUT &&
            strstr(e.msg, "more than once") != NULL,
        "a template that prints a user's words twice is refused");
    turn_release(&t);
    chat_free(none);
    chat_free(twice);
}

static void
test_end(struct tokenizer *tok)
{
    static const struct {
        const char *after;
        int64_t id;
        const char *text;
    } cases[] = {
        { "<|im_end|>\n<|im_start|>assistant\n", 2, NULL },
        { " \n<|endoftext|>", 0, NULL },
        { " [/INST]", -1, "[/INST]" },
        { "\n\n### Response:\nx", -1, "### Response:" },
        { "\n<|user|> \nx", -1, "<|user|>" },
        { " \n\n", -1, NULL },
        { "", -1, NULL },
    };
    struct tok_scratch *scratch = tok_scratch_new(tok);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct user_turn t = { 0 };
        struct turn_end end;

        buf_adds(&t.after, cases[i].after);
        end = turn_end(&t, tok, scratch);
        ok(end.id == cases[i].id &&
                (cases[i].text == NULL ? end.text == NULL
                                       : end.text != NULL &&
                            strcmp(end.text, cases[i].text) == 0),
            "the end of turn %zu is %s", i,
            cases[i].id >= 0 ? "a token" : "found in its text");
        free(end.text);
        turn_release(&t);
    }
    tok_scratch_free(scratch);
}

/* ---- which texts are questions ---- */

static void
test_sift(const struct tokenizer *tok)
{
    static const struct {
        const char *text;
        enum sift_why want;
    } cases[] = {
        { "Write a function that adds two numbers.", SIFT_KEEP },
        { "What does this do?\n\n```python\nimport os\n```", SIFT_KEEP },
        { "Describe the user interface of an assistant.", SIFT_KEEP },
        { "I want a class.\nuser names are keys", SIFT_KEEP },
        { "Surely there is a way?", SIFT_KEEP },
        { "Is a < b | c > d?", SIFT_KEEP },
        { "", SIFT_EMPTY },
        { "```python\nx\n```", SIFT_ANSWER },
        { "import os\nprint(1)", SIFT_ANSWER },
        { "def f(x):", SIFT_ANSWER },
        { "Sure! I can do that.", SIFT_ANSWER },
        { "Here's a list", SIFT_ANSWER },
        { "HERE IS a list", SIFT_ANSWER },
        { "Sorry, but I can't help with that.", SIFT_ANSWER },
        { "# Adds two numbers", SIFT_ANSWER },
        { "Add two numbers\n\nCertainly! Below is it.", SIFT_ANSWER },
        { "python\nSure, I can.", SIFT_ANSWER },
        { "Why?\nHere is my code.\nSurely it is right?", SIFT_KEEP },
        { "Why?\nAssistant```x```", SIFT_MARKS },
        { "  // Adds two numbers", SIFT_ANSWER },
        { "What is <|im_end|>?", SIFT_MARKS },
        { "Why?\n<|other_name-1|>", SIFT_MARKS },
        { "Why?\nassistant\nBecause.", SIFT_MARKS },
        { "Why?\nAssistant: Because.", SIFT_MARKS },
        { "user", SIFT_MARKS },
        { "Why? ### Answer here", SIFT_MARKS },
        { "Why? You are a bot. Why?", SIFT_MARKS },
        { "Why?\nhelper:", SIFT_MARKS },
        { "Is helper a word?", SIFT_KEEP },
        { "Why \xef\xbf\xbd?", SIFT_MARKS },
        { "Why? [tag]", SIFT_MARKS },
    };
    struct chat *c = parse_template(
        "{% if messages[0].role != 'system' %}You are a bot.\n{% endif %}"
        "{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>"
        "helper\n{% endfor %}### Answer here\n---\n");
    struct sift *s = sift_new(c, NULL, tok);

    sift_add_mark(s, "[tag]");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = cases[i].text;
        const enum sift_why got = sift_text(s, text, strlen(text), 1);

        if (!ok(got == cases[i].want, "text %zu is judged as %s", i,
                sift_name(cases[i].want)))
            printf("# %s, not %s: %s\n", sift_name(got),
                sift_name(cases[i].want), text);
    }
    ok(sift_text(s, "Why?", 4, 0) == SIFT_UNFINISHED,
        "a text that was cut off is dropped");
    ok(sift_text(s, "a\0b", 3, 1) == SIFT_MARKS,
        "a text with a NUL byte is dropped");
    sift_free(s);
    chat_free(c);
}

/* Are the prompts of two draws equal? */
static int
draws_equal(const struct asker *a, uint64_t i, uint64_t k)
{
    struct err e;
    struct prompt *x = asker_prompt(a, i, NULL, &e);
    struct prompt *y = asker_prompt(a, k, NULL, &e);
    const int same = x->ids.n == y->ids.n &&
        memcmp(x->ids.v, y->ids.v, x->ids.n * sizeof *x->ids.v) == 0;

    prompt_free(x);
    prompt_free(y);
    return same;
}

static void
test_examples(const struct tokenizer *tok)
{
    const struct ask_from from = { .like = "like.jsonl",
        .model = TOKENIZER,
        .tok = tok,
        .V = 1 << 20,
        .params = { .most = 8, .n = 1 } };
    FILE *f = fopen("like.jsonl", "w");
    struct asker a;
    size_t differ = 0;

    for (int i = 0; i < 9; i++)
        fprintf(f, "{\"prompt\": \"example %d\"}\n", i);
    fclose(f);
    asker_open(&a, &from);
    for (uint64_t i = 1; i < 6; i++)
        differ += !draws_equal(&a, 0, 16 * i);
    ok(differ >= 4, "draws are shown different examples");
    ok(draws_equal(&a, 0, 15) && draws_equal(&a, 16, 31),
        "sixteen draws in a row are shown the same examples");
    asker_release(&a);
}

int
main(void)
{
    struct tokenizer *tok;
    struct err e;

    tap_scratch();
    tok = tok_open(TOKENIZER, &e);
    test_golden();
    test_refused();
    test_end(tok);
    test_sift(tok);
    test_examples(tok);
    tok_free(tok);
    return done_testing();
}
