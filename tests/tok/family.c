/* lib/tok/tok: small tokenizers with the pipeline of each family give
 * the ids and texts of the tokenizers library and of mistral-common
 * (tests/golden/tok/family).  With arguments: only the families named. */
#include "../lib/tok_answers.h"
#include "format/json.h"

/* Families that are tested; the folder may hold others. */
static const char *const family[] = {
    "llama3",
    "llama3merges",
    "gpt2legacy",
    "nemo",
    "qwen",
    "qwenflags",
    "llama2",
    "llama2norm",
    "llama2flags",
    "mistral3",
    "gemma",
    "gemma3",
    "spbytes",
    "spunk",
    "spfuse",
    "spdrop",
    "tekken-v7",
};

static void
test_family(const char *name, const json_t *texts)
{
    struct err e = { 0 };
    /* Mistral's own form is known by its file's name. */
    const int tekken = strncmp(name, "tekken", 6) == 0;
    struct tokenizer *t =
        tok_open(golden("family", name, tekken ? "/tekken.json" : ".json"), &e);

    if (ok(t != NULL, "%s: is read %s", name, e.msg))
        compare_answers(name, t, texts, golden("family", name, ".ids"));
    tok_free(t);
}

/* Read the file of a Tekken model, its pattern replaced by that of Llama 3,
 * with `config`. */
static struct tokenizer *
wrong_regex(const char *config)
{
    struct err e = { 0 };
    json_t *right = js_load(golden("family", "nemo", ".json"), JS_MAX, &e);
    json_t *other = js_load(golden("family", "llama3", ".json"), JS_MAX, &e);
    struct tokenizer *t;
    char *s;

    json_object_set(right, "pre_tokenizer",
        json_object_get(other, "pre_tokenizer"));
    s = json_dumps(right, 0);
    t = tok_parse(s, strlen(s), config, config ? strlen(config) : 0, &e);
    if (!t)
        printf("# %s\n", e.msg);
    free(s);
    json_decref(right);
    json_decref(other);
    return t;
}

static void
test_mistral_regex(const json_t *texts)
{
    struct err e = { 0 };
    struct tokenizer *as_is = wrong_regex(NULL);
    struct tokenizer *null = wrong_regex("{\"fix_mistral_regex\": null}");
    struct tokenizer *keep = wrong_regex("{\"fix_mistral_regex\": false}");
    struct tokenizer *fix = wrong_regex("{\"fix_mistral_regex\": true}");
    struct tokenizer *none = wrong_regex("{\"fix_mistral_regex\": 1}");
    struct tokenizer *nemo, *llama;
    char a[33], b[33];

    nemo = tok_open(golden("family", "nemo", ".json"), &e);
    llama = tok_open(golden("family", "llama3", ".json"), &e);
    ok(as_is && tok_warning(as_is), "Tekken with Llama 3's pattern: a warning");
    ok(null && tok_warning(null), "null is as if it were not there");
    ok(keep && !tok_warning(keep), "kept without one");
    ok(nemo && llama && !tok_warning(nemo) && !tok_warning(llama),
        "none for "
        "the files that are right");
    ok(!none, "what is neither true nor false is refused");
    if (ok(fix && !tok_warning(fix), "it is read with Tekken's pattern")) {
        compare_answers("nemo, fixed", fix, texts,
            golden("family", "nemo", ".ids"));
        tok_hash(fix, a);
        tok_hash(nemo, b);
        ok(strcmp(a, b) == 0, "its hash is that of the right file");
        tok_hash(keep, b);
        ok(strcmp(a, b) != 0, "the other one's is not");
    }
    tok_free(as_is);
    tok_free(null);
    tok_free(keep);
    tok_free(fix);
    tok_free(none);
    tok_free(nemo);
    tok_free(llama);
}

int
main(int argc, char **argv)
{
    json_t *texts = read_texts(golden("family", "texts", ".jsonl"));

    for (int i = 1; i < argc; i++)
        test_family(argv[i], texts);
    for (size_t i = 0; argc < 2 && i < sizeof family / sizeof *family; i++)
        test_family(family[i], texts);
    if (argc < 2)
        test_mistral_regex(texts);
    json_decref(texts);
    return done_testing();
}
