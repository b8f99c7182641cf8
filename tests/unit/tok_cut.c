/* lib/data/tokenizer: a text that is encoded in parts, wherever tok_cut allows
 * a cut, has the ids of the whole, in every family. */
#include "../tok_answers.h"
#include "format/json.h"
#include "format/patterns.h"

#include "base/rng.h"

static const char *const family[] = { "gpt2", "digits", "flags", "holes",
    "family/llama3", "family/llama3merges", "family/gpt2legacy",
    "family/nemo", "family/qwen", "family/qwenflags", "family/llama2",
    "family/llama2norm", "family/llama2flags", "family/mistral3",
    "family/gemma", "family/gemma3", "family/spbytes", "family/spunk",
    "family/spfuse", "family/spdrop", "family/tekken-v7" };

/* Words, ends of pieces, and what joins with what is beside it. */
static const char *const part[] = { " ", " ", " ", "  ", "\n", "\r\n", "\t",
    "a", "the", "The", "XY", "don't", "'s", "'", "'LL", "\xc5\xbf", "12",
    "1234567", ".", "...", "/", "!", "=", "\xcc\xb8", "e\xcc\x81",
    "\xc3\xa9", "\xcc\x81", "\xcc\xa3", "\xd0\xb6\xd0\xbe", "\xe2\x84\xaa",
    "\xef\xac\xaa", "\xe6\x97\xa5\xe6\x9c\xac", "\xe3\x80\x82",
    "\xe3\x80\x80", "\xc2\xa0", "\xe0\xb8\x81\xe0\xb8\xb1", "\xe2\x96\x81",
    "\xc2\xb2", "\xe2\x85\xa7", "\xd9\xa3", "\xf0\x9f\x98\x80", "\xff",
    "\xe2\x82", "\xc2\x85", "\xef\xbb\xbf", "\xea\xb0\x80\xe1\x86\xa8",
    "<s>", "</s>", "<unk>", "<mask>", "<|endoftext|>", "<|im_start|>",
    "<tool_call>", "[INST]", "<pad>", "Europe", "ing", " of" };
#define PARTS (sizeof part / sizeof *part)

static struct tok_ids whole, parts;
static size_t ncut;

/* The ids of text[n], cut wherever stretches of `section` bytes and what was
 * left of the one before allow it; 0: everywhere. */
static void
in_parts(const struct tokenizer *t, struct tok_scratch *s, const char *text,
    size_t n, size_t section, int flags)
{
    size_t from = 0, cut;

    parts.n = 0;
    for (size_t end = section; section && from < n && end < n;
        end += section)
        if ((cut = tok_cut(t, text + from, end - from, flags)) > 0) {
            tok_encode(t, s, text + from, cut, flags | (from ? TOK_MIDDLE :
                TOK_BOS), &parts);
            from += cut;
            ncut++;
        }
    while (!section && from < n) {
        size_t first = n - from, k = first;

        while ((k = tok_cut(t, text + from, k, flags)) > 0)
            first = k;
        if (first == n - from)
            break;
        tok_encode(t, s, text + from, first, flags | (from ? TOK_MIDDLE :
            TOK_BOS), &parts);
        from += first;
        ncut++;
    }
    tok_encode(t, s, text + from, n - from, flags | TOK_EOS |
        (from ? TOK_MIDDLE : TOK_BOS), &parts);
}

/* Sections that differ from the whole. */
static size_t
compare(const struct tokenizer *t, struct tok_scratch *s, const char *text,
    size_t n)
{
    static const size_t section[] = { 0, 1, 7, 64 };
    size_t wrong = 0;

    for (int flags = 0; flags <= TOK_SPECIAL; flags += TOK_SPECIAL) {
        whole.n = 0;
        tok_encode(t, s, text, n, flags | TOK_BOS | TOK_EOS, &whole);
        for (size_t i = 0; i < 4; i++) {
            in_parts(t, s, text, n, section[i], flags);
            if (parts.n == whole.n && (whole.n == 0 || memcmp(parts.v,
                whole.v, whole.n * sizeof *whole.v) == 0))
                continue;
            if (wrong++ == 0) {
                printf("# sections of %zu: ", section[i]);
                for (size_t k = 0; k < n; k++)
                    printf(text[k] >= ' ' ? "%c" : "\\x%02x",
                        (unsigned char)text[k]);
                printf("\n");
                show_ids("whole", &whole);
                show_ids("parts", &parts);
            }
        }
    }
    return wrong;
}

/* A text of up to `most` parts: those above, or the texts of tokens. */
static void
make_text(const struct tokenizer *t, uint64_t seed, size_t most, struct buf *b)
{
    const size_t n = 1 + rng_u64(seed, 0) % most;
    const uint64_t words = rng_u64(seed, 1) % 3;
    struct err e;

    buf_clear(b);
    for (size_t i = 0; i < n; i++) {
        const uint64_t r = rng_u64(seed, 2 + i);
        const uint32_t id = (uint32_t)((r >> 20) % tok_vocab(t));

        if ((r & 3) < words)
            tok_decode(t, &id, 1, TOK_MIDDLE, b, &e);
        else
            buf_adds(b, part[(r >> 20) % PARTS]);
    }
}

static struct tokenizer *
open_family(const char *name, struct err *e)
{
    return tok_open(golden(".", name, strstr(name, "tekken") ?
        "/tekken.json" : ".json"), e);
}

/* A family with another pattern, of a Sequence of Split and ByteLevel. */
static struct tokenizer *
open_pattern(const char *name, const char *regex, struct err *e)
{
    json_t *j = js_load(golden(".", name, ".json"), JS_MAX, e);
    json_t *split = json_array_get(json_object_get(json_object_get(j,
        "pre_tokenizer"), "pretokenizers"), 0);
    struct tokenizer *t;
    char *s;

    json_object_set_new(json_object_get(split, "pattern"), "Regex",
        json_string(regex));
    s = json_dumps(j, 0);
    t = tok_parse(s, strlen(s), NULL, 0, e);
    free(s);
    json_decref(j);
    return t;
}

/* t is taken; NULL: e says why. */
static void
test_family(const char *name, struct tokenizer *t, const struct err *e,
    const json_t *texts)
{
    struct tok_scratch *s;
    struct buf b = { 0 };
    size_t wrong = 0;

    if (!ok(t != NULL, "%s: is read %s", name, e->msg))
        return;
    s = tok_scratch_new(t);
    ncut = 0;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *x = json_array_get(texts, i);

        wrong += compare(t, s, json_string_value(x), json_string_length(x));
    }
    for (uint64_t i = 0; i < 1500; i++) {
        make_text(t, i, i % 16 ? 12 : 100, &b);
        wrong += compare(t, s, b.p, b.n);
    }
    /* Two have added tokens that begin with a space. */
    ok(wrong == 0 && (ncut > 1000 || strstr(name, "llama2norm") ||
        strstr(name, "llama2flags")), "%s: %zu cuts, %zu wrong", name, ncut,
        wrong);
    buf_release(&b);
    tok_scratch_free(s);
    tok_free(t);
}

int
main(void)
{
    json_t *texts = read_texts(golden("family", "texts", ".jsonl"));
    struct err e = { 0 };

    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        test_family(family[i], open_family(family[i], &e), &e, texts);
    test_family("o200k", open_pattern("family/nemo", RX_O200K, &e), &e,
        texts);
    test_family("qwen35", open_pattern("family/qwen", RX_QWEN35, &e), &e,
        texts);
    json_decref(texts);
    tok_ids_release(&whole);
    tok_ids_release(&parts);
    return done_testing();
}
