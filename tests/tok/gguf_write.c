/* lib/format/gguf_tok_write: a tokenizer.json put into a GGUF and read back
 * gives the ids of the original's own library (tests/golden/tok).  The
 * tokenizer of a GGUF, written as tokenizer.json and from that as a GGUF, has
 * the same keys and values.  Properties of a tokenizer.json for which GGUFs
 * have no key are refused by name. */
#include "../lib/tok_answers.h"
#include "format/gguf_tok.h"
#include "format/gguf_tok_write.h"
#include "format/json.h"

static const struct gguf_ids none = { { -1, -1, -1, -1 }, NULL };

/* Write the tokenizer.json j as a GGUF's metadata and read it back; NULL and
 * *e. */
static json_t *
through(const json_t *j, size_t V, struct err *e)
{
    struct gguf_out o = { 0 };
    struct buf b = { 0 };
    json_t *back = NULL;
    struct gguf g;

    if (gguf_out_tokenizer(&o, j, NULL, V, &none, e) == 0) {
        gguf_out_head(&o, &b);
        if (gguf_parse_metadata(&g, b.p, b.n, e) == 0) {
            back = gguf_tokenizer_json(&g, e);
            gguf_release(&g);
        }
    }
    buf_release(&b);
    gguf_out_release(&o);
    return back;
}

/* The size of a vocabulary that ends a few ids after the largest. */
static size_t
vocab_size(const json_t *j)
{
    const json_t *v = js_get(j, "model.vocab"), *id;
    const json_t *added = json_object_get(j, "added_tokens");
    const char *key;
    json_int_t most = 0;

    json_object_foreach((json_t *)v, key, id) most =
        json_integer_value(id) > most ? json_integer_value(id) : most;
    for (size_t i = 0; i < json_array_size(added); i++) {
        id = json_object_get(json_array_get(added, i), "id");
        most = json_integer_value(id) > most ? json_integer_value(id) : most;
    }
    return (size_t)most + 4;
}

static struct tokenizer *
make(const json_t *j, struct err *e)
{
    char *s = json_dumps(j, 0);
    struct tokenizer *t = tok_parse(s, strlen(s), NULL, 0, e);

    free(s);
    return t;
}

static json_t *
load(const char *name)
{
    struct err e;
    json_t *j = js_load(golden("family", name, ".json"), JS_MAX, &e);

    if (!j) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    return j;
}

static void
test_answers(const char *name, const json_t *texts)
{
    struct err e = { 0 };
    json_t *j = load(name), *back = through(j, vocab_size(j), &e);
    struct tokenizer *t = back ? make(back, &e) : NULL;

    if (ok(t != NULL, "%s: a GGUF of it is read %s", name, e.msg))
        compare_answers(name, t, texts, golden("family", name, ".ids"));
    tok_free(t);
    json_decref(back);
    json_decref(j);
}

/* Set the added tokens of the tokenizer.json j, and add to its vocabulary, as a
 * line of gaps.jsonl says. */
static void
set_added(json_t *j, const json_t *line)
{
    const json_t *added = json_object_get(line, "added");
    json_t *list = json_array();

    for (size_t i = 0; i < json_array_size(added); i++) {
        const json_t *one = json_array_get(added, i);

        json_array_append_new(list,
            json_pack("{s:O, s:O, s:b, s:b, s:b, s:b, s:b}", "id",
                json_array_get(one, 0), "content", json_array_get(one, 1),
                "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0,
                "special", 1));
    }
    json_object_set_new(j, "added_tokens", list);
    json_object_update((json_t *)js_get(j, "model.vocab"),
        json_object_get(line, "vocab"));
}

/* The ids of the line's text as a JSON list. */
static json_t *
ids_of(const struct tokenizer *t, const json_t *line)
{
    const json_t *text = json_object_get(line, "text");
    struct tok_scratch *s = tok_scratch_new(t);
    struct tok_ids ids = { 0 };
    json_t *list = json_array();

    tok_encode(t, s, json_string_value(text), json_string_length(text),
        TOK_SPECIAL, &ids);
    for (size_t i = 0; i < ids.n; i++)
        json_array_append_new(list, json_integer((json_int_t)ids.v[i]));
    tok_ids_release(&ids);
    tok_scratch_free(s);
    return list;
}

/* Added tokens have the ids that the tokenizers library gives them, whatever
 * the file says, also in a GGUF. */
static void
test_gaps(void)
{
    json_t *lines = read_texts(golden(".", "gaps", ".jsonl"));

    for (size_t i = 0; i < json_array_size(lines); i++) {
        const json_t *line = json_array_get(lines, i);
        struct err e = { 0 };
        json_t *j = js_load(golden(".", "digits", ".json"), JS_MAX, &e);
        json_t *back, *had, *has;
        struct tokenizer *one, *two;

        set_added(j, line);
        back = through(j, 900, &e);
        one = make(j, &e);
        two = back ? make(back, &e) : NULL;
        if (!one || !two) {
            printf("Bail out! %s\n", e.msg);
            exit(1);
        }
        had = ids_of(one, line);
        has = ids_of(two, line);
        ok(json_equal(had, json_object_get(line, "ids")),
            "added tokens, case %zu: the library's ids", i);
        ok(json_equal(has, json_object_get(line, "ids")),
            "added tokens, case %zu: the library's ids in a GGUF", i);
        tok_free(one);
        tok_free(two);
        json_decref(had);
        json_decref(has);
        json_decref(back);
        json_decref(j);
    }
    json_decref(lines);
}

/* The tokenizer of a GGUF as JSON, put into a GGUF, gives the same JSON. */
static void
test_again(const char *name)
{
    struct err e = { 0 };
    struct io_map m;
    struct gguf g;
    json_t *one = NULL, *two = NULL;

    if (io_map(&m, golden("spm", name, ".gguf"), &e) < 0 ||
        gguf_parse(&g, m.p, m.n, &e) < 0 ||
        (one = gguf_tokenizer_json(&g, &e)) == NULL) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    two = through(one, gguf_kv(&g, "tokenizer.ggml.tokens")->n, &e);
    ok(two && json_equal(one, two),
        "%s: the tokenizer.json is the same again %s", name, e.msg);
    json_decref(one);
    json_decref(two);
    gguf_release(&g);
    io_unmap(&m);
}

/* If the merges of runs do not begin with the longest run, the vocabulary is
 * not Gemma's: the merges keep their order. */
static void
test_runs(void)
{
    struct err e = { 0 };
    json_t *j = load("llama2"), *back;
    json_t *model = json_object_get(j, "model");

    json_object_set_new(j, "post_processor", json_null());
    json_object_set_new(model, "vocab",
        json_pack("{s:i, s:i, s:i, s:i}", "<unk>", 0, "\u2581", 10,
            "\u2581\u2581", 11, "\u2581\u2581\u2581", 12));
    json_object_set_new(model, "merges",
        json_pack("[[s, s], [s, s], [s, s]]", "\u2581", "\u2581",
            "\u2581\u2581", "\u2581", "\u2581", "\u2581\u2581"));
    back = through(j, 13, &e);
    ok(json_equal(json_array_get(js_get(back, "model.merges"), 0),
           json_array_get(json_object_get(model, "merges"), 0)),
        "merges keep a pair of spaces before three %s", e.msg);
    json_decref(back);
    json_decref(j);
}

/* The tokenizer.json `name` with member path.last set to the JSON text `value`
 * is refused because of `why`. */
static void
refused(const char *name, const char *path, const char *last, const char *value,
    const char *why)
{
    char what[100];
    struct err e = { 0 };
    json_t *j = load(name), *back;

    if (last)
        json_object_set_new(*path ? (json_t *)js_get(j, path) : j, last,
            json_loads(value, JSON_DECODE_ANY, NULL));
    back = through(j, vocab_size(j), &e);
    snprintf(what, sizeof what, last ? "%s with the %s %.30s" : "%s", name,
        last, value);
    ok(!back && strstr(e.msg, why) && e.code == EX_INPUT,
        "%s is refused: %.60s", what, back ? "it was written" : e.msg);
    json_decref(back);
    json_decref(j);
}

static void
test_refused(void)
{
    refused("qwenflags", "", NULL, NULL, "no key for lstrip");
    refused("llama2flags", "", NULL, NULL, "no key for lstrip");
    refused("spunk", "", NULL, NULL, "model.fuse_unk");
    refused("spdrop", "", NULL, NULL, "model.unk_token: is missing");
    refused("qwen", "model", "ignore_merges", "true", "pre_tokenizer");
    refused("gemma", "", NULL, NULL, "a character that is no token");
    refused("llama3", "", "normalizer", "{\"type\":\"NFC\"}", "pre_tokenizer");
    refused("qwen", "", "normalizer", "{\"type\":\"NFKC\"}", "pre_tokenizer");
    refused("qwen", "pre_tokenizer", "pretokenizers",
        "[{\"type\":\"ByteLevel\",\"add_prefix_space\":true}]",
        "pre_tokenizer");
    refused("qwen", "model", "type", "\"WordPiece\"", "model.type");
    refused("qwen", "model", "dropout", "0.5", "model.dropout");
    refused("qwen", "model", "end_of_word_suffix", "\"</w>\"",
        "model.end_of_word_suffix");
    refused("qwen", "", "post_processor", "{\"type\":\"Bert\"}",
        "post_processor");
    refused("llama3", "", "post_processor",
        "{\"type\":\"TemplateProcessing\",\"single\":["
        "{\"SpecialToken\":{\"id\":\"a\"}},{\"SpecialToken\":{\"id\":\"a\"}}],"
        "\"special_tokens\":{\"a\":{\"ids\":[1]}}}",
        "post_processor");
    refused("llama3", "", "post_processor",
        "{\"type\":\"TemplateProcessing\",\"single\":["
        "{\"SpecialToken\":{\"id\":\"a\"}}],"
        "\"special_tokens\":{\"a\":{\"ids\":[\"1\"]}}}",
        "post_processor: a is no token of the model");
    refused("llama3", "", "post_processor",
        "{\"type\":\"TemplateProcessing\",\"single\":["
        "{\"SpecialToken\":{\"id\":\"a\"}}],"
        "\"special_tokens\":{\"a\":{\"ids\":[70000]}}}",
        "post_processor: a is no token of the model");
    refused("llama3", "", "post_processor",
        "{\"type\":\"TemplateProcessing\",\"single\":["
        "{\"SpecialToken\":{\"id\":\"a\"}}],"
        "\"special_tokens\":{\"a\":{\"ids\":[964]}}}",
        "post_processor: a is no token of the model");
    refused("llama2", "", "normalizer", "null", "normalizer");
    refused("llama2", "model", "merges", "[\"e n\",\"\u2581 d\"]",
        "scores would also merge");
    refused("llama2", "model", "merges", "[\"e n\",\"\u2581 d\",\"e n\"]",
        "not beside it");
    refused("llama2", "model", "merges", "[[\"t\",\"t\"]]", "makes no token");
    refused("qwen", "model", "merges", "[7]", "is no pair");
    refused("llama2", "model", "merges", "[[\"\",\"\"]]", "makes no token");
    refused("llama2", "model", "vocab", "{\"a\":0,\"<unk>\":-1}", "has no id");
    refused("llama2", "model", "vocab", "{\"a\":7,\"b\":7}", "there twice");
}

/* Each pre-tokenizer that has a name in a GGUF is written and read. */
static void
test_pres(void)
{
    const char *path = golden("family", "qwen", ".json");
    struct err e = { 0 };
    const char *name;
    size_t n;
    int nfc, whole;
    json_t *pre, *j, *back;

    for (size_t i = 0; (pre = gguf_pre_json(i, &name, &n, &nfc, &whole)); i++) {
        j = js_load(path, JS_MAX, &e);
        json_object_set_new(json_object_get(j, "model"), "ignore_merges",
            json_boolean(whole));
        json_object_set_new(j, "normalizer",
            nfc ? json_pack("{s:s}", "type", "NFC")
                : json_pack("{s:s, s:[]}", "type", "Sequence", "normalizers"));
        json_object_set(j, "pre_tokenizer", pre);
        back = through(j, vocab_size(j), &e);
        ok(back != NULL && json_equal(js_get(back, "pre_tokenizer"), pre),
            "the pre-tokenizer %.*s is written to a GGUF and read %s", (int)n,
            name, back == NULL ? e.msg : "");
        json_decref(back);
        json_decref(j);
        json_decref(pre);
    }
}

int
main(void)
{
    static const char *const families[] = { "gpt2legacy", "llama2", "llama3",
        "llama3merges", "nemo", "qwen" };
    static const char *const spm[] = { "spm", "spm-bare", "spm-runs",
        "spm-ties", "spm-flat" };
    json_t *texts = read_texts(golden("family", "texts", ".jsonl"));

    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        test_answers(families[i], texts);
    for (size_t i = 0; i < sizeof spm / sizeof *spm; i++)
        test_again(spm[i]);
    test_gaps();
    test_runs();
    test_refused();
    test_pres();
    json_decref(texts);
    return done_testing();
}
