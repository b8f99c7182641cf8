/* lib/format/gguf_tok and gguf_spm: tokenizers inside GGUF files.  Those of
 * SentencePiece give the ids of sentencepiece and llama.cpp; Gemma's also those
 * of a published tokenizer.json (tests/golden/tok/spm).  Each name of a
 * pre-tokenizer gives its pattern.  A damaged or unknown part is refused by
 * name. */
#include "../lib/tok_answers.h"
#include "format/gguf.h"
#include "format/gguf_tok.h"

/* A GGUF's tokenizer gives the golden answers, and the tokenizer.json made of
 * it has the same hash. */
static void
test_answers(const char *name, const json_t *texts)
{
    struct err e = { 0 };
    struct tokenizer *t = tok_open(golden("spm", name, ".gguf"), &e), *copy;
    struct io_map m = { 0 };
    struct gguf g;
    char a[33], b[33];

    if (ok(t != NULL, "%s: is read %s", name, e.msg) &&
        ok(io_map(&m, golden("spm", name, ".gguf"), &e) == 0 &&
                gguf_parse(&g, m.p, m.n, &e) == 0,
            "%s: and parsed", name)) {
        json_t *j = gguf_tokenizer_json(&g, &e);
        char *s = j ? json_dumps(j, 0) : xstrdup("");

        compare_answers(name, t, texts, golden("spm", name, ".ids"));
        copy = tok_parse(s, strlen(s), NULL, 0, &e);
        tok_hash(t, a);
        ok(copy != NULL && (tok_hash(copy, b), strcmp(a, b) == 0),
            "%s: as a "
            "tokenizer.json",
            name);
        tok_free(copy);
        json_decref(j);
        free(s);
        gguf_release(&g);
    }
    io_unmap(&m);
    tok_free(t);
}

/* Append v to a file in the making, in n bytes. */
static void
num(struct buf *b, uint64_t v, int n)
{
    for (int i = 0; i < n; i++)
        buf_addc(b, (int)(v >> 8 * i & 255));
}

static void
str(struct buf *b, const char *s)
{
    num(b, strlen(s), 8);
    buf_adds(b, s);
}

/* key = text */
static void
kv_str(struct buf *b, const char *key, const char *s)
{
    str(b, key);
    num(b, GGUF_STR, 4);
    str(b, s);
}

static void
kv_num(struct buf *b, const char *key, enum gguf_type type, unsigned v)
{
    str(b, key);
    num(b, type, 4);
    num(b, v, type == GGUF_BOOL ? 1 : 4);
}

/* key = list of the words of s, which spaces separate; "_" stands for a
 * space */
static void
kv_words(struct buf *b, const char *key, const char *s)
{
    struct buf all = { 0 };
    size_t n = 0;

    for (const char *end; *s; s = *end ? end + 1 : end, n++) {
        size_t k;

        end = strchr(s, ' ');
        end = end ? end : s + strlen(s);
        k = (size_t)(end - s);
        num(&all, k, 8);
        buf_add(&all, s, k);
        for (size_t i = all.n - k; i < all.n; i++)
            if (all.p[i] == '_')
                all.p[i] = ' ';
    }
    str(b, key);
    num(b, GGUF_ARRAY, 4);
    num(b, GGUF_STR, 4);
    num(b, n, 8);
    buf_add(b, all.p, all.n);
    buf_release(&all);
}

static void
kv_kinds(struct buf *b, const char *key, const char *digits)
{
    str(b, key);
    num(b, GGUF_ARRAY, 4);
    num(b, GGUF_I32, 4);
    num(b, strlen(digits), 8);
    for (; *digits; digits++)
        num(b, (uint64_t)(*digits - '0'), 4);
}

static void
kv_scores(struct buf *b, const char *key, const float *v, size_t n)
{
    str(b, key);
    num(b, GGUF_ARRAY, 4);
    num(b, GGUF_F32, 4);
    num(b, n, 8);
    for (size_t i = 0; i < n; i++) {
        uint32_t u;

        memcpy(&u, &v[i], 4);
        num(b, u, 4);
    }
}

#define TG "tokenizer.ggml."
#define SP "\xe2\x96\x81"

/* The tokenizer.json of a file with the nkv metadata entries in *kv; NULL and
 * *e.  Releases kv. */
static json_t *
convert(struct buf *kv, unsigned nkv, struct err *e)
{
    struct buf b = { 0 };
    struct gguf g;
    json_t *j = NULL;

    buf_adds(&b, "GGUF");
    num(&b, 3, 4);
    num(&b, 0, 8);
    num(&b, nkv, 8);
    buf_add(&b, kv->p, kv->n);
    if (gguf_parse(&g, b.p, b.n, e) == 0) {
        j = gguf_tokenizer_json(&g, e);
        gguf_release(&g);
    }
    buf_release(&b);
    buf_release(kv);
    return j;
}

/* The tokenizer.json of a byte-level GGUF with pre-tokenizer `pre`. */
static json_t *
byte_level(const char *pre, struct err *e)
{
    struct buf b = { 0 };

    kv_str(&b, TG "model", "gpt2");
    kv_str(&b, TG "pre", pre);
    kv_words(&b, TG "tokens", "a b ab <s>");
    kv_words(&b, TG "merges", "a_b");
    kv_kinds(&b, TG "token_type", "1113");
    kv_num(&b, TG "bos_token_id", GGUF_U32, 3);
    return convert(&b, 6, e);
}

/* A tokenizer opened from a GGUF knows the ends of turns and messages. */
static void
test_ends(void)
{
    struct buf b = { 0 }, kv = { 0 };
    struct err e = { 0 };
    struct tokenizer *t;
    FILE *f = fopen("ends.gguf", "wb");

    kv_str(&kv, TG "model", "gpt2");
    kv_str(&kv, TG "pre", "gpt-2");
    kv_words(&kv, TG "tokens", "a b ab <e> <t> <m>");
    kv_words(&kv, TG "merges", "a_b");
    kv_kinds(&kv, TG "token_type", "111333");
    kv_num(&kv, TG "eos_token_id", GGUF_U32, 3);
    kv_num(&kv, TG "eot_token_id", GGUF_U32, 4);
    kv_num(&kv, TG "eom_token_id", GGUF_U32, 5);
    buf_adds(&b, "GGUF");
    num(&b, 3, 4);
    num(&b, 0, 8);
    num(&b, 8, 8);
    buf_add(&b, kv.p, kv.n);
    if (f) {
        fwrite(b.p, 1, b.n, f);
        fclose(f);
    }
    t = tok_open("ends.gguf", &e);
    ok(t && tok_eos(t) == 3 && tok_is_end(t, 3) && tok_is_end(t, 4) &&
            tok_is_end(t, 5) && !tok_is_end(t, 2),
        "eos, eot and eom tokens end a text %s", e.msg);
    tok_free(t);
    buf_release(&b);
    buf_release(&kv);
}

/* Each name of a pre-tokenizer gives the pattern, normalizer, ignore_merges and
 * BOS that belong to it. */
static void
test_pre(void)
{
    static const struct {
        const char *name, *holds;
        int norm, ignore, bos;
    } pre[] = {
        { "gpt-2", NULL, 0, 0, 0 },
        { "smollm", "individual_digits", 0, 0, 0 },
        { "llama-bpe", "N}{1,3}|", 0, 1, 1 },
        { "qwen2", "L}+|\\\\p{N}| ?", 1, 0, 0 },
        { "tekken", "p{Lt}", 0, 1, 1 },
        { "olmo", NULL, 1, 0, 0 },
        { "command-r", "individual_digits", 1, 0, 0 },
        { "llama-v3", "N}{1,3}|", 0, 1, 1 },
        { "dbrx", "N}{1,3}|", 0, 0, 0 },
        { "glm4", "N}{1,3}|", 0, 1, 0 },
        { "deepseek-r1-qwen", "L}+|\\\\p{N}| ?", 0, 0, 0 },
        { "qwen35", "[\\\\p{L}\\\\p{M}]+|", 1, 0, 0 },
        { "gpt-4o", "'d)?|\\\\p{N}{1,3}|", 0, 0, 0 },
        { "minimax-m2", "'d)?|\\\\p{N}{1,3}|", 0, 0, 0 },
    };
    /* `default` is what llama.cpp falls back to; no model needs it. */
    static const char *const other[] = { "llama-bpf", "default", "gpt",
        "gpt-2 ", "gpt-2 phi-2", "" };
    struct err e = { 0 };
    json_t *j;

    for (size_t i = 0; i < sizeof pre / sizeof *pre; i++) {
        json_t *p;
        struct tokenizer *t;
        char *s, *all;

        j = byte_level(pre[i].name, &e);
        p = json_object_get(j, "pre_tokenizer");
        s = p ? json_dumps(p, 0) : xstrdup("");
        all = j ? json_dumps(j, 0) : xstrdup("");
        t = tok_parse(all, strlen(all), NULL, 0, &e);
        ok(t &&
                (pre[i].holds ? strstr(s, pre[i].holds) != NULL
                              : strstr(s, "Sequence") == NULL) &&
                json_is_object(json_object_get(j, "normalizer")) ==
                    pre[i].norm &&
                json_is_true(json_object_get(json_object_get(j, "model"),
                    "ignore_merges")) == pre[i].ignore &&
                json_is_object(json_object_get(j, "post_processor")) ==
                    pre[i].bos,
            "pre-tokenizer %s is known %s", pre[i].name, e.msg);
        tok_free(t);
        json_decref(j);
        free(s);
        free(all);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        j = byte_level(other[i], &e);
        ok(!j && strstr(e.msg, other[i]), "another name: %.60s", e.msg);
        json_decref(j);
    }
}

/* Gemma 4: merges of characters; unknown characters become bytes. */
static void
test_gemma4(void)
{
    struct err e = { 0 };
    struct buf b = { 0 }, back = { 0 };
    struct tok_ids ids = { 0 };
    static const uint32_t want[] = { 2, 8, 4, 5, 6 };
    struct tokenizer *t;
    json_t *j;
    char *s;

    kv_str(&b, TG "model", "gemma4");
    kv_words(&b, TG "tokens",
        "<pad> <eos> <bos> <unk> <0xC3> <0xA9> a " SP " " SP "a");
    kv_words(&b, TG "merges", SP "_a");
    kv_kinds(&b, TG "token_type", "333266111");
    kv_num(&b, TG "bos_token_id", GGUF_U32, 2);
    kv_num(&b, TG "unknown_token_id", GGUF_U32, 3);
    kv_num(&b, TG "add_space_prefix", GGUF_BOOL, 0);
    j = convert(&b, 7, &e);
    s = j ? json_dumps(j, 0) : xstrdup("");
    t = tok_parse(s, strlen(s), NULL, 0, &e);
    if (ok(t != NULL, "gemma4 is read %s", e.msg)) {
        struct tok_scratch *x = tok_scratch_new(t);

        tok_encode(t, x,
            " a\xc3\xa9"
            "a",
            5, TOK_BOS, &ids);
        ok(ids.n == 5 && memcmp(ids.v, want, sizeof want) == 0,
            "gemma4 gives the ids");
        ok(tok_decode(t, ids.v + 1, 4, 0, &back, &e) == 0 && back.n == 5 &&
                memcmp(back.p,
                    " a\xc3\xa9"
                    "a",
                    5) == 0,
            "gemma4 gives the text back");
        tok_scratch_free(x);
    }
    tok_ids_release(&ids);
    buf_release(&back);
    tok_free(t);
    json_decref(j);
    free(s);
}

/* The parts of a small SentencePiece model; NULL or 0: the usual one. */
struct spm {
    const char *tokens, *kinds, *off, *model;
    const float *scores;
    size_t nscore;
    int no_prefix, no_kinds, charsmap, no_unk;
};

static json_t *
spm(struct spm f, struct err *e)
{
    static const float usual[] = { 0, 0, 0, -1, -2, -3, -4, -5, -6 };
    struct buf b = { 0 };
    unsigned n = 4;

    kv_str(&b, TG "model", f.model ? f.model : "llama");
    kv_words(&b, TG "tokens",
        f.tokens ? f.tokens : "<unk> <s> </s> ab bc abc a b c");
    kv_scores(&b, TG "scores", f.scores ? f.scores : usual,
        f.nscore ? f.nscore : 9);
    kv_num(&b, TG "add_space_prefix", GGUF_BOOL, !f.no_prefix);
    if (!f.no_kinds && ++n)
        kv_kinds(&b, TG "token_type",
            f.kinds        ? f.kinds
                : f.no_unk ? "133111111"
                           : "233111111");
    if (f.off && ++n)
        kv_num(&b, f.off, GGUF_BOOL, 1);
    if (f.charsmap && ++n)
        kv_str(&b, TG "precompiled_charsmap", "x");
    return convert(&b, n, e);
}

static void
spm_bad(const char *what, struct spm f, const char *why)
{
    struct err e = { 0 };
    json_t *j = spm(f, &e);

    ok(!j && e.code == EX_INPUT && strstr(e.msg, why), "%s: %s", what,
        j ? "was accepted" : e.msg);
    json_decref(j);
}

/* A model with the parts f must encode text to the ids `want`. */
static void
spm_ids(const char *what, struct spm f, const char *text, int flags,
    const char *want)
{
    struct err e = { 0 };
    struct tok_ids ids = { 0 };
    struct buf b = { 0 };
    json_t *j = spm(f, &e);
    char *s = j ? json_dumps(j, 0) : xstrdup("");
    struct tokenizer *t = tok_parse(s, strlen(s), NULL, 0, &e);

    if (t) {
        struct tok_scratch *x = tok_scratch_new(t);

        tok_encode(t, x, text, strlen(text), flags, &ids);
        for (size_t i = 0; i < ids.n; i++) {
            char one[20];

            snprintf(one, sizeof one, i ? " %u" : "%u", ids.v[i]);
            buf_adds(&b, one);
        }
        buf_addc(&b, '\0');
        tok_scratch_free(x);
    }
    ok(t && strcmp(b.p, want) == 0, "%s: %s", what, t ? b.p : e.msg);
    tok_ids_release(&ids);
    buf_release(&b);
    tok_free(t);
    json_decref(j);
    free(s);
}

static void
test_spm(void)
{
    static const float equal[] = { 0, 0, 0, -1, -1, -3, -4, -5, -6 };
    static const float bc_first[] = { 0, 0, 0, -2, -1, -3, -4, -5, -6 };
    static const float nan_[] = { 0, 0, 0, NAN, -2, -3, -4, -5, -6 };
    static const float more[] = { 0, 0, 0, -1, -2, -3, -4, 9, 0, 0, 0, 0, 0, 0,
        0 };
    static const float top[] = { 0, 0, 9, -1, -2, -3, -4, -5, -6 };
    char *wide = xmalloc(1024), *s;

    spm_ids("the highest score first", (struct spm){ .no_prefix = 1 }, "abcbc",
        0, "5 4");
    spm_ids("whatever the order of ids",
        (struct spm){ .no_prefix = 1,
            .scores = bc_first,
            .tokens = "<unk> <s> </s> ab bc abd a b c",
            .kinds = "233115111" },
        "abc", 0, "6 4");
    spm_ids("the leftmost of equal scores is merged",
        (struct spm){ .no_prefix = 1, .scores = equal }, "abcbc", 0, "5 4");
    spm_ids("neither the longest nor the lowest id is merged",
        (struct spm){ .no_prefix = 1,
            .scores = equal,
            .tokens = "<unk> <s> </s> bc ab abd a b c",
            .kinds = "233115111" },
        "abcbc", 0, "4 8 3");
    spm_ids("unknown characters are one", (struct spm){ 0 }, "xyab", 0, "0 3");
    spm_ids("BOS by default", (struct spm){ .no_prefix = 1 }, "ab",
        TOK_BOS | TOK_EOS, "1 3");
    spm_ids("a control token in the text", (struct spm){ .no_prefix = 1 },
        "<s>ab", TOK_SPECIAL, "1 3");
    spm_ids("a control token is text", (struct spm){ .no_prefix = 1 }, "<s>ab",
        0, "0 3");
    spm_ids("merges give no control token",
        (struct spm){ .no_prefix = 1,
            .tokens = "<unk> <s> abc ab bc ac a b c",
            .scores = top },
        "abc", 0, "3 8");
    spm_ids("a byte is not merged",
        (struct spm){ .no_prefix = 1,
            .tokens = "<unk> <s> </s> <0 x4 1> <0x4 <0x41> < 0 x 4 1 > A",
            .kinds = "233111161111111",
            .scores = more,
            .nscore = 15 },
        "A<0x41>", 0, "14 6 5");
    spm_ids("a user's token",
        (struct spm){ .no_prefix = 1, .kinds = "233111141" }, "abc", 0,
        "6 7 8");
    spm_ids("a user's run of spaces is one of marks",
        (struct spm){ .no_prefix = 1,
            .tokens = "<unk> <s> </s> \u2581 a __ ___ b c",
            .kinds = "233114411" },
        "  a    b \u2581a\u2581\u2581\u2581", 0, "5 4 6 3 7 5 4 6");
    spm_ids("marks stay where another token has them",
        (struct spm){ .no_prefix = 1,
            .tokens = "<unk> <s> </s> \u2581 a __ \u2581\u2581 b c",
            .kinds = "233114111" },
        "  a\u2581\u2581", 0, "5 4 6");
    spm_ids("marks stay where a mark is no token",
        (struct spm){ .no_prefix = 1,
            .tokens = "<unk> <s> </s> ab bc __ a b c",
            .kinds = "233114111" },
        "  a", 0, "5 6");
    spm_bad("no kinds", (struct spm){ .no_kinds = 1 }, TG "token_type");
    spm_bad("too few kinds", (struct spm){ .kinds = "23311111" },
        TG "token_type");
    spm_bad("an unknown kind", (struct spm){ .kinds = "233111117" },
        TG "token_type");
    spm_bad("too few scores", (struct spm){ .nscore = 8 }, TG "scores");
    spm_bad("a score that is no number", (struct spm){ .scores = nan_ },
        TG "scores");
    spm_bad("a character that is no token",
        (struct spm){ .tokens = "<unk> <s> </s> ab bc abx a b c" },
        "holds a character");
    spm_bad("a token twice",
        (struct spm){ .tokens = "<unk> <s> </s> ab bc ab a b c" },
        "there twice");
    spm_bad("no unknown token", (struct spm){ .no_unk = 1 },
        TG "unknown_token_id");
    spm_bad("white space as suffix",
        (struct spm){ .off = TG "treat_whitespace_as_suffix" },
        "suffix: is not supported");
    spm_bad("fewer spaces",
        (struct spm){ .off = TG "remove_extra_whitespaces" },
        "whitespaces: is not supported");
    spm_bad("a normalizer", (struct spm){ .charsmap = 1 },
        TG "precompiled_charsmap");
    spm_bad("another model", (struct spm){ .model = "t5" }, TG "model");
    memset(wide, 'a', 600);
    wide[600] = '\0';
    s = xasprintf("<unk> <s> </s> ab bc %s a b c", wide);
    spm_bad("a very long token", (struct spm){ .tokens = s },
        "more than 512 bytes");
    free(s);
    free(wide);
}

int
main(void)
{
    json_t *texts = read_texts(golden("family", "texts", ".jsonl"));

    test_answers("spm", texts);
    test_answers("spm-bare", texts);
    test_answers("spm-runs", texts);
    test_answers("spm-ties", texts);
    test_answers("spm-flat", texts);
    json_decref(texts);
    test_ends();
    test_pre();
    test_gemma4();
    test_spm();
    return done_testing();
}
