/*
 * lib/tok/tok: hostile and unknown tokenizer.json are refused with the
 * path of what is wrong.  They cause no crash, and no allocation larger than
 * the file justifies.  Hostile texts take no more time or stack than others.
 * Inputs that broke other readers, and the tests of them here:
 *
 *   a merge longer than any (tokenizers 2094, 2198)       a merge longer than
 *                                                         any entry
 *   a pattern that backtracks (tokenizers 2060)           another pattern
 *   one huge id, one huge array (qxotic 3)                one huge id
 *   stack: "^" a million times (tiktoken 245)             1000000 x ^
 *   stack: 26,000 of a letter (llama.cpp 27783)           26000 x a
 *   a crash on 9,400 of a letter (llama.cpp 15594)        9400 x A
 *   JSON in JSON                                          200000 brackets,
 *                                                         64 brackets deep
 *   lengths of tokens as int (CVE-2025-49847, -52566)     an entry of 5 MB, a
 *                                                         very long added token
 *   a name twice                                          a text twice
 *   one id for two, an id not below the vocabulary        an id twice,
 *                                                         a template's token
 *   allocation from a number of the file                  one huge id
 *   a flag of one part that turns off another's check     test_damage
 *
 * The GGUF's own lines are in gguf.c and format/gguf.c, those of tekken.json in
 * tekken.c, those of archives in tests/tokenize/input.sh, any bytes in
 * fuzz/tok_file.c and fuzz/tok_text.c; added.c has many added tokens.
 */
#include "base/clock.h"
#include "tok/tok.h"

#include "base/io.h"
#include "format/json.h"
#include "../lib/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTE_LEVEL                                        \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false," \
    "\"use_regex\":true}"
#define MODEL                                                 \
    "{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}," \
    "\"merges\":[\"a b\"]}"
#define ADDED(more)                                           \
    "{\"id\":3,\"content\":\"<s>\",\"single_word\":false,"    \
    "\"lstrip\":false,\"rstrip\":false,\"normalized\":false," \
    "\"special\":true" more "}"

/* The parts of a small file; NULL: the usual one. */
struct file {
    const char *pre, *model, *added, *post, *decoder, *more;
};

static char *
text_of(const struct file *f)
{
    return xasprintf("{\"added_tokens\":[%s],\"pre_tokenizer\":%s,"
                     "\"post_processor\":%s,\"decoder\":%s,\"model\":%s%s}",
        f->added ? f->added : "", f->pre ? f->pre : BYTE_LEVEL,
        f->post ? f->post : "null", f->decoder ? f->decoder : BYTE_LEVEL,
        f->model ? f->model : MODEL, f->more ? f->more : "");
}

static void
good(const char *what, struct file f, const char *text, size_t want)
{
    char *s = text_of(&f);
    struct err e = { 0 };
    struct tokenizer *t = tok_parse(s, strlen(s), NULL, 0, &e);
    struct tok_ids ids = { 0 };

    ok(t != NULL, "%s is read%s%s", what, t ? "" : ": ", e.msg);
    if (t) {
        struct tok_scratch *x = tok_scratch_new(t);

        tok_encode(t, x, text, strlen(text), TOK_SPECIAL, &ids);
        ok(ids.n == want, "%s gives %zu ids", what, ids.n);
        tok_scratch_free(x);
    }
    tok_ids_release(&ids);
    tok_free(t);
    free(s);
}

static void
bad_text(const char *what, const char *s, size_t n, const char *where)
{
    struct err e = { 0 };
    struct tokenizer *t = tok_parse(s, n, NULL, 0, &e);

    ok(!t && e.code == EX_INPUT && strncmp(e.msg, where, strlen(where)) == 0,
        "%s is refused: %s", what, t ? "was accepted" : e.msg);
    tok_free(t);
}

static void
bad(const char *what, struct file f, const char *where)
{
    char *s = text_of(&f);

    bad_text(what, s, strlen(s), where);
    free(s);
}

static void
test_components(void)
{
    good("a usual file", (struct file){ 0 }, "abba", 3);
    good("an added token", (struct file){ .added = ADDED("") }, "a<s>b", 3);
    good("a list of merges as pairs",
        (struct file){ .model =
                           "{\"vocab\":{\"a\":0,"
                           "\"b\":1,\"ab\":2},\"merges\":[[\"a\",\"b\"]]}" },
        "ab", 1);
    bad("an unknown normalizer",
        (struct file){ .more = ",\"normalizer\":{\"type\":"
                               "\"Lowercase\"}" },
        "normalizer.type: Lowercase");
    bad("an unknown normalizer in a list",
        (struct file){
            .more =
                ",\"normalizer\":{\"type\":"
                "\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":"
                "\"NFKC\"}]}" },
        "normalizer.normalizers.1.type: NFKC");
    bad("a list of normalizers in a list",
        (struct file){
            .more = ",\"normalizer\":{\"type\":"
                    "\"Sequence\",\"normalizers\":[{\"type\":\"Sequence\","
                    "\"normalizers\":[]}]}" },
        "normalizer.normalizers.0.type: ");
    bad("a pattern to replace",
        (struct file){ .more = ",\"normalizer\":{\"type\":"
                               "\"Replace\",\"pattern\":{\"Regex\":\"a*\"},"
                               "\"content\":\"\"}" },
        "normalizer.pattern: ");
    bad("an empty text to replace",
        (struct file){ .more = ",\"normalizer\":{"
                               "\"type\":\"Replace\",\"pattern\":{\"String\":"
                               "\"\"},\"content\":"
                               "\"\"}" },
        "normalizer.pattern: ");
    bad("a new option of a normalizer",
        (struct file){ .more = ",\"normalizer\":{"
                               "\"type\":\"NFC\",\"x\":1}" },
        "normalizer.x: ");
    bad("an unknown part", (struct file){ .more = ",\"new\":1" },
        "tokenizer.new: ");
    bad("a decoder of bytes for characters", (struct file){ .pre = "null" },
        "decoder.type: ByteLevel");
    bad("another pre-tokenizer",
        (struct file){ .pre = "{\"type\":\"Whitespace\"}" },
        "pre_tokenizer.type: Whitespace");
    bad("another mark of a space",
        (struct file){ .pre = "{\"type\":\"Metaspace\","
                              "\"replacement\":\"_\"}" },
        "pre_tokenizer.replacement: ");
    bad("another scheme of prepending",
        (struct file){
            .pre = "{\"type\":\"Metaspace\","
                   "\"replacement\":\"\u2581\",\"prepend_scheme\":\"last\"}" },
        "pre_tokenizer.prepend_scheme: ");
    bad("a split of characters",
        (struct file){
            .pre = "{\"type\":\"Split\","
                   "\"pattern\":{\"String\":\" \"},\"behavior\":\"Removed\","
                   "\"invert\":false}" },
        "pre_tokenizer.behavior: ");
    good("a prefix space", (struct file){ .pre = "{\"type\":\"ByteLevel\"}" },
        "ab", 1);
    bad("a new option of a pre-tokenizer",
        (struct file){ .pre = "{\"type\":\"ByteLevel\","
                              "\"add_prefix_space\":false,\"x\":1}" },
        "pre_tokenizer.x: ");
    bad("another pattern",
        (struct file){
            .pre =
                "{\"type\":\"Sequence\","
                "\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":"
                "\"(a+)+$\"},\"behavior\":\"Isolated\",\"invert\":false}"
                "," BYTE_LEVEL "]}" },
        "pre_tokenizer.pretokenizers.0.pattern: ");
    bad("a split into whole numbers",
        (struct file){ .pre = "{\"type\":\"Sequence\","
                              "\"pretokenizers\":[{\"type\":\"Digits\","
                              "\"individual_digits\":false"
                              "}," BYTE_LEVEL "]}" },
        "pre_tokenizer.pretokenizers.0.individual_digits: ");
    bad("another decoder", (struct file){ .decoder = "{\"type\":\"Fuse\"}" },
        "decoder.type: ");
    bad("a post-processor without its tokens",
        (struct file){ .post = "{\"type\":\"BertProcessing\"}" },
        "post_processor.cls: ");
    bad("another post-processor",
        (struct file){ .post = "{\"type\":\"Whatever\"}" },
        "post_processor.type: Whatever");
    bad("a template without text",
        (struct file){
            .post = "{\"type\":\"TemplateProcessing\",\"single\":[]}" },
        "post_processor.single: ");
    bad("a template's token that is none",
        (struct file){ .post = "{\"type\":\"TemplateProcessing\",\"single\":[{"
                               "\"SpecialToken\":"
                               "{\"id\":\"x\"}},{\"Sequence\":{\"id\":\"A\"}}],"
                               "\"special_tokens\":"
                               "{\"x\":{\"ids\":[77]}}}" },
        "post_processor.single.0: ");
    bad("post-processors in each other",
        (struct file){
            .post =
                "{\"type\":\"Sequence\",\"processors\":[{\"type\":\"Sequence\","
                "\"processors\":[]}]}" },
        "post_processor.processors.0.type: ");
}

static void
test_models(void)
{
#define M(rest) ((struct file){ .model = "{" rest "}" })
#define TIED(ties)                                   \
    M("\"vocab\":{\"a\":0,\"b\":1,\"c\":2,\"ab\":3," \
      "\"bc\":4},\"merges\":[\"b c\",\"a b\"],\"retort_ties\":" ties)
    bad("another model", M("\"type\":\"Unigram\""), "model.type: Unigram");
    bad("a model with dropout",
        M("\"dropout\":0.1,\"vocab\":{\"a\":0},\"merges\":[]"),
        "model.dropout: ");
    bad("a model with a suffix",
        M("\"end_of_word_suffix\":\"</w>\",\"vocab\":{\"a\":0},"
          "\"merges\":[]"),
        "model.end_of_word_suffix: ");
    bad("an id of unknown bytes",
        M("\"unk_token\":\"a\",\"vocab\":"
          "{\"a\":0},\"merges\":[]"),
        "model.unk_token: ");
    bad("fallback to bytes",
        M("\"byte_fallback\":true,\"vocab\":{\"a\":0},"
          "\"merges\":[]"),
        "model.byte_fallback: ");
    bad("a set of ties that is no list", TIED("{}"), "model.retort_ties: ");
    bad("a tie of one", TIED("[[0,1]]"), "model.retort_ties.0: ");
    bad("a tie of more than there are", TIED("[[0,3]]"),
        "model.retort_ties.0: ");
    bad("a tie of merges that are not there", TIED("[[9,2]]"),
        "model.retort_ties.0: ");
    bad("a tie before the first", TIED("[[-1,2]]"), "model.retort_ties.0: ");
    bad("a tie of a negative number", TIED("[[0,-1]]"),
        "model.retort_ties.0: ");
    bad("a tie of a huge number", TIED("[[1,9223372036854775807]]"),
        "model.retort_ties.0: ");
    bad("a second tie of a merge", TIED("[[0,2],[1,2]]"),
        "model.retort_ties.1: ");
    bad("a tie of three numbers", TIED("[[0,2,1]]"), "model.retort_ties.0: ");
    bad("a tie of texts", TIED("[[\"0\",\"2\"]]"), "model.retort_ties.0: ");
    good("a tie", TIED("[[0,2]]"), "abc", 2);
    bad("a model without a vocabulary", M("\"merges\":[]"), "model.vocab: ");
    bad("an empty vocabulary", M("\"vocab\":{},\"merges\":[]"),
        "model.vocab: ");
    bad("a vocabulary that is a list", M("\"vocab\":[\"a\"],\"merges\":[]"),
        "model.vocab: ");
    bad("a model without merges", M("\"vocab\":{\"a\":0}"), "model.merges: ");
    bad("one huge id", M("\"vocab\":{\"a\":4000000000},\"merges\":[]"),
        "model.vocab.a: ");
    bad("a negative id", M("\"vocab\":{\"a\":-1},\"merges\":[]"),
        "model.vocab.a: ");
    bad("a real id", M("\"vocab\":{\"a\":1.5},\"merges\":[]"),
        "model.vocab.a: ");
    bad("an id twice", M("\"vocab\":{\"a\":1,\"b\":1},\"merges\":[]"),
        "model.vocab.b: ");
    bad("a text twice", M("\"vocab\":{\"a\":1,\"a\":2},\"merges\":[]"),
        "offset ");
    bad("a merge of one word", M("\"vocab\":{\"a\":0},\"merges\":[\"a\"]"),
        "model.merges.0: ");
    bad("a merge of three words",
        M("\"vocab\":{\"a\":0},\"merges\":[\"a a a\"]"), "model.merges.0: ");
    bad("a merge of numbers", M("\"vocab\":{\"a\":0},\"merges\":[[1,2]]"),
        "model.merges.0: ");
    bad("a merge longer than any entry",
        M("\"vocab\":{\"a\":0},\"merges\":"
          "[\"a aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]"),
        "model.merges.0: ");
    bad("a merge without its result",
        M("\"vocab\":{\"a\":0},\"merges\":[\"a a\"]"), "model.merges.0: ");
#undef M
}

static void
test_added(void)
{
    char *s = xcalloc(1, 6000), *t;
    struct file f = { 0 };

    bad("an added number", (struct file){ .added = "1" }, "added_tokens.0: ");
    bad("an added token without flags",
        (struct file){ .added = "{\"content\":\"x\"}" },
        "added_tokens.0.single_word: ");
    bad("an added token with a new flag",
        (struct file){ .added = ADDED(",\"x\":true") }, "added_tokens.0.x: ");
    memset(s, 'a', 5000);
    t = xasprintf("{\"content\":\"%s\",\"single_word\":false,\"lstrip\":"
                  "false,\"rstrip\":false,\"special\":true}",
        s);
    f.added = t;
    bad("a very long added token", f, "added_tokens.0.content: ");
    free(t);
    free(s);
    good("an empty added token",
        (struct file){
            .added = "{\"content\":\"\","
                     "\"single_word\":false,\"lstrip\":true,\"rstrip\":true,"
                     "\"normalized\":true,\"special\":true}" },
        "ab", 1);
    good("an added token that is there twice",
        (struct file){ .added = ADDED("") "," ADDED("") }, "<s>", 1);
}

/* Steps of a normalizer, as what follows the decoder. */
#define STEPS(list)                                        \
    (struct file)                                          \
    {                                                      \
        .more = ",\"normalizer\":{\"type\":"               \
                "\"Sequence\",\"normalizers\":[" list "]}" \
    }
#define REPLACE(from, to)                \
    "{\"type\":\"Replace\",\"pattern\":" \
    "{\"String\":\"" from "\"},\"content\":\"" to "\"}"

/* Normalizers that make a text much longer are refused. */
static void
test_growth(void)
{
    static const char long_text[] = "normalizer: may make a text more than 8 "
                                    "times as long";
    struct buf b = { 0 };

    good("a text that becomes 8 times as long", STEPS(REPLACE("x", "aaaaaaaa")),
        "xx", 16);
    bad("a text that becomes 9 times as long", STEPS(REPLACE("x", "aaaaaaaaa")),
        long_text);
    bad("a text that becomes 3 times 3 times as long",
        STEPS(REPLACE("x", "yyy") "," REPLACE("y", "aaa")), long_text);
    good("a text whose two letters become three each",
        STEPS(REPLACE("x", "aaa") "," REPLACE("y", "bbb")), "xy", 5);
    bad("a text that becomes longer by a third step",
        STEPS(
            REPLACE("x", "yyy") "," REPLACE("y", "z") "," REPLACE("z", "aaa")),
        long_text);
    bad("a step that makes NFC's letters longer",
        STEPS("{\"type\":\"NFC\"}," REPLACE("y", "aaa")), long_text);
    bad("a long text to prepend",
        STEPS("{\"type\":\"Prepend\",\"prepend\":"
              "\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
              "aaaaa"
              "\"}"),
        "normalizer: prepends more than 64 bytes");
    /* a file of 12 KB that made 7.3 GB of one letter */
    buf_adds(&b,
        "{\"added_tokens\":[],\"pre_tokenizer\":" BYTE_LEVEL
        ",\"post_processor\":null,\"decoder\":" BYTE_LEVEL ",\"model\":" MODEL
        ",\"normalizer\":{\"type\":\"Sequence\",\"normalizers\":[");
    for (int i = 0; i < 8; i++) {
        buf_addf(&b,
            "%s{\"type\":\"Replace\",\"pattern\":{\"String\":"
            "\"%c\"},\"content\":\"",
            i ? "," : "", 'a' + i);
        for (int k = 0; k < 1400; k++)
            buf_addc(&b, 'b' + i);
        buf_adds(&b, "\"}");
    }
    buf_adds(&b, "]}}");
    bad_text("a chain of steps", b.p, b.n, long_text);
    buf_release(&b);
}

/* Files that nest too deep, are cut, or have a byte changed. */
static void
test_damage(void)
{
    struct file f = { .added = ADDED("") };
    char *s = text_of(&f), *deep = xmalloc(200001);
    const size_t n = strlen(s);
    size_t accepted = 0, read = 0, outside = 0;
    struct err e;

    memset(deep, '[', 200000);
    bad_text("200000 brackets", deep, 200000, "offset ");
    free(deep);
    bad_text("an empty file", "", 0, "offset ");
    bad_text("a number as a file", "1", 1, "");
    for (size_t i = 0; i < n; i++) {
        struct tokenizer *t = tok_parse(s, i, NULL, 0, &e);

        accepted += t != NULL;
        tok_free(t);
    }
    ok(accepted == 0, "cut anywhere it is refused");
    for (size_t i = 0; i < 8 * n; i++) {
        struct tokenizer *t;

        s[i / 8] ^= (char)(1 << i % 8);
        t = tok_parse(s, n, NULL, 0, &e);
        if (t) {
            struct tok_scratch *x = tok_scratch_new(t);
            struct tok_ids ids = { 0 };

            tok_encode(t, x, "ab<s> a\nb1", 10, TOK_SPECIAL, &ids);
            for (size_t k = 0; k < ids.n; k++)
                outside += ids.v[k] >= tok_vocab(t);
            read++;
            tok_ids_release(&ids);
            tok_scratch_free(x);
        }
        tok_free(t);
        s[i / 8] ^= (char)(1 << i % 8);
    }
    ok(read > 0 && outside == 0,
        "flipped bits: of %zu %zu are read, %zu ids are outside", 8 * n, read,
        outside);
    free(s);
}

/* Vocabulary and merges are read without the JSON parser.  They must be refused
 * where it refuses them, and mean the same where it takes them. */
static void
test_strict(void)
{
#define V(names, list) \
    "{\"vocab\":{\"a\":0,\"b\":1," names "},\"merges\":[" list "]}"
    static const char *const fine[] = { V("\"ab\":2", "\"a b\""),
        V("\"a\\u0062\":2", "\"\\u0061 b\""),
        V(" \n \"ab\" : 2 ", "[ \"a\" , \"\\u0062\" ] "),
        "{\"merges\":[\"a b\"],\"vocab\":{\"a\":0,\"b\":1,\"ab\":2}}",
        V("\"ab\":2,\"\\ud83d\\ude00\\\"\\\\\\/\\n\":3", "[\"a\",\"b\"]") };
    static const char *const fine_name[] = { "a model in plain letters",
        "a model with escaped letters", "a model with blanks",
        "a model whose merges stand first", "a model with other characters" };
    static const char *const parts[] = { "\"ab\":2", "\"a\\nb\":2",
        "\"\\u00e9\\ud83d\\ude00\":2,\"c\":3", "\"\xc3\xa9\":2" };
    size_t wrong = 0, refused = 0;
    struct err e;

    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++)
        good(fine_name[i], (struct file){ .model = fine[i] }, "ab", 1);
    bad("a name twice, escaped",
        (struct file){ .model = V("\"ab\":2,\"\\u0061\":3", "") }, "offset ");
    bad("a control character", (struct file){ .model = V("\"a\nb\":2", "") },
        "offset ");
    bad("a NUL in a name", (struct file){ .model = V("\"a\\u0000\":2", "") },
        "offset ");
    bad("half a pair", (struct file){ .model = V("\"\\ud83d\":2", "") },
        "offset ");
    bad("a name that is no UTF-8",
        (struct file){ .model = V("\"\xed\xa0\x80\":2", "") }, "offset ");
    bad("a number from 0", (struct file){ .model = V("\"ab\":02", "") },
        "offset ");
    bad("a comma behind", (struct file){ .model = V("\"ab\":2,", "") },
        "offset ");
    bad("one behind merges",
        (struct file){ .model = V("\"ab\":2", "\"a b\",") }, "offset ");
    bad("a vocabulary twice",
        (struct file){ .model = "{\"vocab\":{\"a\":0},"
                                "\"vocab\":{\"a\":0},\"merges\":[]}" },
        "offset ");
    bad("a model twice", (struct file){ .more = ",\"model\":" MODEL },
        "offset ");
    bad("a model twice, escaped",
        (struct file){ .more = ",\"m\\u006fdel\":" MODEL }, "offset ");
    for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
        char *model = xasprintf("{\"vocab\":{\"a\":0,\"b\":1,%s},\"merges\":"
                                "[]}",
            parts[k]);
        const struct file f = { .model = model };
        char *s = text_of(&f);
        const size_t n = strlen(s);
        const size_t from = (size_t)(strstr(s, "\"model\"") - s);

        for (size_t i = from; i < n; i++)
            for (int c = 0; c < 256; c++) {
                const char was = s[i];
                struct tokenizer *t;
                json_t *j;

                s[i] = (char)c;
                j = js_parse(s, n, &e);
                t = tok_parse(s, n, NULL, 0, &e);
                refused += !j;
                wrong += !j && t;
                s[i] = was;
                json_decref(j);
                tok_free(t);
            }
        free(s);
        free(model);
    }
    ok(wrong == 0 && refused > 1000,
        "texts that are no JSON: of %zu %zu are taken", refused, wrong);
#undef V
}

/* A long added token that begins to match at every place of a text, but is not
 * in it, does not make encoding slow. */
static void
test_slow(void)
{
    const size_t n = 1000000;
    char *name = xcalloc(1, 4001), *text = xmalloc(n), *json;
    struct file f = { 0 };
    struct err e;
    struct tokenizer *t;
    double sec;

    memset(name, 'a', 4000);
    memset(text, 'a', n);
    json = xasprintf("{\"content\":\"%sb\",\"single_word\":true,\"lstrip\":"
                     "true,\"rstrip\":true,\"normalized\":false,\"special\":"
                     "false}",
        name);
    f.added = json;
    free(name);
    name = text_of(&f);
    t = tok_parse(name, strlen(name), NULL, 0, &e);
    ok(t == NULL || tok_vocab(t) == 4, "a long added token");
    if (t) {
        struct tok_scratch *x = tok_scratch_new(t);
        struct tok_ids ids = { 0 };

        sec = clock_cpu();
        tok_encode(t, x, text, n, TOK_SPECIAL, &ids);
        ok(ids.n == n && clock_cpu() - sec < 100,
            "a long added token is looked for at every place");
        tok_ids_release(&ids);
        tok_scratch_free(x);
    }
    tok_free(t);
    free(json);
    free(name);
    free(text);
}

/* A file with an unknown member of `depth` nested arrays. */
static char *
nested(int depth)
{
    char *in = xcalloc(1, (size_t)depth + 1),
         *out = xcalloc(1, (size_t)depth + 1), *more, *s;

    memset(in, '[', (size_t)depth);
    memset(out, ']', (size_t)depth);
    more = xasprintf(",\"new\":%s%s", in, out);
    s = text_of(&(struct file){ .more = more });
    free(in);
    free(out);
    free(more);
    return s;
}

/* The file's object is the first level, the member's arrays are the others. */
static void
test_depth(void)
{
    char *s = nested(63);

    bad_text("64 brackets deep are parsed", s, strlen(s), "tokenizer.new: ");
    free(s);
    s = nested(64);
    bad_text("65 are not", s, strlen(s), "offset ");
    free(s);
}

/* A vocabulary with an entry of 5 MB, which the text then holds. */
static void
test_entry(void)
{
    const size_t n = 5000000;
    char *name = xcalloc(1, n + 1), *model;
    struct file f = { 0 };

    memset(name, 'b', n);
    model = xasprintf("{\"ignore_merges\":true,\"vocab\":{\"a\":0,\"%s\":1,"
                      "\"b\":2},\"merges\":[]}",
        name);
    f.model = model;
    good("an entry of 5 MB", f, name, 1);
    name[n - 1] = '\0';
    good("an entry of 5 MB without its last letter", f, name, n - 1);
    free(model);
    free(name);
}

/* A run of n letters, to encode and decode in a thread with a small stack;
 * same: is the result the text? */
struct run {
    struct tokenizer *t;
    const char *letter;
    size_t n;
    int same;
};

static void *
encode_run(void *arg)
{
    struct run *r = arg;
    struct tok_scratch *s = tok_scratch_new(r->t);
    struct tok_ids ids = { 0 };
    struct buf text = { 0 }, back = { 0 };
    struct err e;

    buf_addc(&text, 'x'); /* some tokenizers remove a space at the start */
    for (size_t i = 0; i < r->n; i++)
        buf_adds(&text, r->letter);
    tok_encode(r->t, s, text.p, text.n, 0, &ids);
    r->same = ids.n > 0 && tok_decode(r->t, ids.v, ids.n, 0, &back, &e) == 0 &&
        back.n == text.n && memcmp(back.p, text.p, text.n) == 0;
    buf_release(&text);
    buf_release(&back);
    tok_ids_release(&ids);
    tok_scratch_free(s);
    return NULL;
}

static int
run(struct run *r)
{
    pthread_attr_t a;
    pthread_t id;

    r->same = 0;
    if (pthread_attr_init(&a) != 0 ||
        pthread_attr_setstacksize(&a, (size_t)256 << 10) != 0 ||
        pthread_create(&id, &a, encode_run, r) != 0) {
        printf("Bail out! no thread\n");
        exit(1);
    }
    pthread_join(id, NULL);
    pthread_attr_destroy(&a);
    return r->same;
}

static void
test_runs(void)
{
    static const char *const family[] = { "gpt2legacy", "llama3", "qwen",
        "nemo", "llama2", "mistral3", "gemma3" };
    static const struct {
        const char *letter;
        size_t n;
    } of[] = { { "^", 1000000 }, { "a", 26000 }, { "A", 9400 }, { " ", 26000 },
        { "\n", 26000 }, { "\xcc\x81", 26000 } };
    const char *top = getenv("RETORT_TOP");

    for (size_t i = 0; i < sizeof family / sizeof *family; i++) {
        char *path = xasprintf("%s/tests/golden/tok/family/%s.json",
            top ? top : ".", family[i]);
        struct err e = { 0 };
        struct run r = { .t = tok_open(path, &e) };

        for (size_t k = 0; r.t && k < sizeof of / sizeof *of; k++) {
            const double begin = clock_cpu();

            r.letter = of[k].letter;
            r.n = of[k].n;
            ok(run(&r) && clock_cpu() - begin < 20, "%s: %zu x %s", family[i],
                r.n, *r.letter == '\n' ? "newline" : r.letter);
        }
        ok(r.t != NULL, "%s: is read %s", family[i], e.msg);
        tok_free(r.t);
        free(path);
    }
}

int
main(void)
{
    test_depth();
    test_entry();
    test_runs();
    test_components();
    test_models();
    test_added();
    test_growth();
    test_damage();
    test_strict();
    test_slow();
    return done_testing();
}
