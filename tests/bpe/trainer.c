/* bpe/trainer: vocabulary and merges equal to those of BpeTrainer
 * of the Hugging Face tokenizers library (tests/golden/tok/trainer.jsonl) */
#include "tok/tok.h"
#include "bpe/trainer.h"

#include "base/io.h"
#include "format/json.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

static const char *
golden(const char *name)
{
    static char path[500];
    const char *top = getenv("RETORT_TOP");

    snprintf(path, sizeof path, "%s/tests/golden/tok/%s", top ? top : ".",
        name);
    return path;
}

static char *
slurp(const char *name, size_t *n)
{
    struct err e;
    char *p;

    if (io_slurp(golden(name), 1 << 20, &p, n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    return p;
}

static json_t *
train(const char *text, size_t n, const struct trainer_spec *s)
{
    struct trainer *t = trainer_new();
    struct err e;
    json_t *j;

    trainer_text(t, text, n, 1);
    j = trainer_run(t, s, &e);
    trainer_free(t);
    return j;
}

static void
test_run(const json_t *want, size_t i, const char *file)
{
    const char *special =
        json_string_value(json_array_get(json_object_get(want, "special"), 0));
    const char *text = json_string_value(json_object_get(want, "text"));
    const json_int_t bytes = json_integer_value(json_object_get(want, "bytes"));
    const struct trainer_spec s = { .vocab = (size_t)json_integer_value(
                                        json_object_get(want, "vocab_size")),
        .min_frequency = (uint64_t)json_integer_value(
            json_object_get(want, "min_frequency")),
        .special = &special,
        .nspecial = 1 };
    json_t *j =
        train(text ? text : file, text ? strlen(text) : (size_t)bytes, &s);

    ok(json_object_size(js_get(j, "model.vocab")) ==
            (size_t)json_integer_value(json_object_get(want, "size")),
        "run %zu: size", i);
    ok(json_equal(js_get(j, "model.merges"), json_object_get(want, "merges")),
        "run %zu: merges", i);
    json_decref(j);
}

/* Trained on the whole file, the tokenizer equals the golden one. */
static void
test_whole(const char *name, size_t minimum, size_t nspecial)
{
    static const char *const special[] = { "<|endoftext|>", "<|im_start|>",
        "<|im_end|>" };
    const struct trainer_spec s = { .vocab = 1000,
        .min_frequency = minimum,
        .special = special,
        .nspecial = nspecial };
    size_t n, k;
    char *text = slurp("train.txt", &n), *json = slurp(name, &k), *mine;
    json_t *j = train(text, n, &s);
    struct err e;
    json_t *want = js_parse(json, k, &e);
    struct tokenizer *a, *b;
    char ha[33] = "a", hb[33] = "b";

    ok(json_equal(js_get(j, "model.vocab"), js_get(want, "model.vocab")),
        "%s has the vocabulary of the oracle", name);
    ok(json_equal(js_get(j, "model.merges"), js_get(want, "model.merges")),
        "%s has the merges of the oracle", name);
    mine = json_dumps(j, 0);
    a = tok_parse(mine, strlen(mine), NULL, 0, &e);
    ok(a != NULL, "%s: what was trained is read", name);
    b = tok_parse(json, k, NULL, 0, &e);
    if (a && b) {
        tok_hash(a, ha);
        tok_hash(b, hb);
    }
    ok(strcmp(ha, hb) == 0, "%s: the same hash", name);
    tok_free(a);
    tok_free(b);
    free(mine);
    free(text);
    free(json);
    json_decref(j);
    json_decref(want);
}

int
main(void)
{
    size_t n, len, i = 0;
    char *file = slurp("train.txt", &len), *runs = slurp("trainer.jsonl", &n);
    char *p = runs;
    struct err e;

    for (; p < runs + n; i++) {
        char *end = memchr(p, '\n', (size_t)(runs + n - p));
        json_t *want = js_parse(p, (size_t)(end - p), &e);

        test_run(want, i, file);
        json_decref(want);
        p = end + 1;
    }
    ok(i == 12, "all %zu runs are compared", i);
    test_whole("digits.json", 2, 3);
    free(file);
    free(runs);
    return done_testing();
}
