/* lib/tok/tekken: Mistral's tekken.json is read, also for an export, and
 * refused if it is wrong.  Its ids are compared by tok_family. */
#include "base/io.h"
#include "model/files/tokfile.h"
#include "tok/tok.h"
#include "format/json.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

static const char *
golden(void)
{
    static char path[500];
    const char *top = getenv("RETORT_TOP");

    snprintf(path, sizeof path, "%s/tests/golden/tok/family/tekken-v7",
        top ? top : ".");
    return path;
}

/* Open a copy of the golden file in which the JSON's member `path` is `value`
 * (released), or, if NULL, is missing. */
static struct tokenizer *
changed(const char *path, json_t *value, struct err *e)
{
    char *file = xasprintf("%s/tekken.json", golden()), *last;
    json_t *j = json_load_file(file, JSON_ALLOW_NUL, NULL), *at = j;
    struct tokenizer *t = NULL;
    char *keys = xstrdup(path), *key = keys;

    for (; (last = strchr(key, '/')) != NULL; key = last + 1) {
        *last = '\0';
        at = json_is_array(at) ? json_array_get(at, strtoul(key, NULL, 10))
                               : json_object_get(at, key);
    }
    if (json_is_array(at))
        json_array_set_new(at, strtoul(key, NULL, 10), value);
    else if (value)
        json_object_set_new(at, key, value);
    else
        json_object_del(at, key);
    io_mkdirs("small", e);
    if (json_dump_file(j, "small/tekken.json", 0) == 0)
        t = tok_open("small/tekken.json", e);
    free(keys);
    free(file);
    json_decref(j);
    return t;
}

static void
bad(const char *what, const char *path, json_t *value, const char *why)
{
    struct err e = { 0 };
    struct tokenizer *t = changed(path, value, &e);

    ok(!t && e.code == EX_INPUT &&
            strncmp(e.msg, "small/tekken.json: ", 19) == 0 &&
            strstr(e.msg, why),
        "%s: %s", what, t ? "was accepted" : e.msg);
    tok_free(t);
}

static void
test_bad(void)
{
    struct err e = { 0 };
    char huge[800];
    struct tokenizer *t = changed("config/version", json_string("v3"), &e);

    ok(t != NULL, "another version is read %s", e.msg);
    tok_free(t);
    bad("no configuration", "config", NULL, "config: lacks");
    bad("no pattern", "config/pattern", NULL, "config: lacks");
    bad("another pattern", "config/pattern", json_string("(a+)+$"),
        "pre_tokenizer.pretokenizers.0.pattern: ");
    bad("a huge vocabulary", "config/default_vocab_size",
        json_integer(INT64_C(1) << 40), "config: lacks");
    bad("more than there are", "config/default_vocab_size",
        json_integer(100000), "vocab: has ");
    bad("less than the bytes", "config/default_vocab_size", json_integer(100),
        "vocab: has ");
    bad("more special ones than all", "config/default_num_special_tokens",
        json_integer(90000), "config: lacks");
    bad("a negative number of them", "config/default_num_special_tokens",
        json_integer(-1), "config: lacks");
    bad("no vocabulary", "vocab", NULL, "vocab: has 0");
    bad("an entry that is none", "vocab/300", json_integer(1), "vocab.300: ");
    bad("a rank out of order", "vocab/300/rank", json_integer(7),
        "vocab.300: ");
    bad("no base64", "vocab/300/token_bytes", json_string("a!b"),
        "vocab.300.token_bytes: ");
    bad("no bytes", "vocab/300/token_bytes", json_string(""),
        "vocab.300.token_bytes: ");
    bad("another byte among the first", "vocab/7/token_bytes",
        json_string("YQ=="), "vocab.7.token_bytes: ");
    bad("a token longer than any", "vocab/300/token_bytes",
        json_stringn(memset(huge, 'Y', 800), 800),
        "vocab.300.token_bytes: are 600, at most 512");
    bad("bytes twice", "vocab/300/token_bytes", json_string("YQ=="),
        "vocab.300.token_bytes: are those of 97");
    bad("a special token without a text", "special_tokens/0/token_str", NULL,
        "special_tokens.0: ");
    bad("another token's rank is refused", "special_tokens/0/rank",
        json_integer(3), "special_tokens.0: ");
    bad("another special token's text is refused", "special_tokens/0/token_str",
        json_string("<s>"), "special_tokens.1: <s> is another");
    bad("a word's text is refused", "special_tokens/0/token_str",
        json_string("a"), "vocab.97: a is another");
}

/* The tokenizer that an export writes beside weights has the same hash. */
static void
export_same(const char *what, const char *from, const char *dir)
{
    struct err e = { 0 };
    struct tokenizer *a = tok_open(from, &e), *b = NULL;
    char *other = xasprintf("%s/tokenizer.json", dir), x[33], y[33] = "";

    io_mkdirs(dir, &e);
    if (tokenizer_export(from, dir, &e) == 0 && (b = tok_open(dir, &e))) {
        tok_hash(a, x);
        tok_hash(b, y);
    }
    ok(a && b && strcmp(x, y) == 0, "%s: it is the same tokenizer %s", what,
        e.msg);
    ok(!io_exists(other), "%s: it keeps its own name", what);
    tok_free(a);
    tok_free(b);
    free(other);
}

static void
test_export(void)
{
    struct err e = { 0 };
    char *file = xasprintf("%s/tekken.json", golden()), *text;
    size_t n;

    export_same("an export from a directory", golden(), "out1");
    export_same("an export from a file", file, "out2");
    io_mkdirs("half/empty", &e);
    ok(io_slurp(file, JS_MAX, &text, &n, &e) == 0 && strstr(text, "\\u0000"),
        "the texts of it hold NUL");
    io_put_file("half/tekken.json", text, n / 2, &e);
    io_mkdirs("out4", &e);
    ok(tokenizer_export("half", "out4", &e) < 0 && e.code == EX_INPUT &&
            strstr(e.msg, "half/tekken.json: offset ") &&
            !io_exists("out4/tekken.json"),
        "half a file is refused: %s", e.msg);
    ok(tokenizer_export("half/empty", "out4", &e) < 0 &&
            strstr(e.msg, "holds no tokenizer.json or tekken.json"),
        "a folder without one is refused: %s", e.msg);
    free(text);
    free(file);
}

int
main(void)
{
    tap_scratch();
    test_bad();
    test_export();
    return done_testing();
}
