/* lib/tok/tok: ids and texts equal to those of the Hugging Face
 * tokenizers library (tests/golden/tok), and what must hold for any text */
#include "tok/merge.h"
#include "tok/tokenizer.h"
#include "text/unicode.h"

#include "base/io.h"
#include "base/rng.h"
#include "../lib/tap.h"
#include "../lib/tok_open.h"
#include "tok/window.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char *
golden(const char *name)
{
    static char path[4][500];
    static int k;
    const char *top = getenv("RETORT_TOP");

    k = (k + 1) % 4;
    snprintf(path[k], sizeof path[k], "%s/tests/golden/tok/%s", top ? top : ".",
        name);
    return path[k];
}

/* The next line of a JSONL file; NULL at its end. */
static json_t *
next_line(FILE *f)
{
    return json_loadf(f, JSON_DISABLE_EOF_CHECK | JSON_ALLOW_NUL, NULL);
}

static int
same_ids(const struct tok_ids *got, const json_t *want)
{
    int same = got->n == json_array_size(want);

    for (size_t i = 0; same && i < got->n; i++)
        same =
            got->v[i] == (uint32_t)json_integer_value(json_array_get(want, i));
    return same;
}

static int
same_text(const struct buf *got, const json_t *want)
{
    struct buf b = { 0 };
    int same;

    uni_repair(got->p, got->n, &b);
    same = b.n == json_string_length(want) &&
        (b.n == 0 || memcmp(b.p, json_string_value(want), b.n) == 0);
    buf_release(&b);
    return same;
}

static void
show(const json_t *line, const struct tok_ids *got)
{
    char *s = json_dumps(line, 0);

    printf("# %.300s\n# got", s);
    for (size_t i = 0; i < got->n && i < 30; i++)
        printf(" %u", got->v[i]);
    printf("\n");
    free(s);
}

static void
test_golden(const char *name)
{
    char file[40];
    struct tokenizer *t;
    struct tok_scratch *s;
    size_t n = 0, wrong[3] = { 0 };
    struct err e;
    json_t *line;
    FILE *f;

    snprintf(file, sizeof file, "%s.json", name);
    t = must_tok(golden(file));
    s = tok_scratch_new(t);
    snprintf(file, sizeof file, "%s.jsonl", name);
    f = fopen(golden(file), "r");
    for (; f && (line = next_line(f)) != NULL; n++, json_decref(line)) {
        const json_t *text = json_object_get(line, "text");
        const json_t *with = json_object_get(line, "with");
        struct tok_ids ids = { 0 };
        struct buf b = { 0 };

        tok_encode(t, s, json_string_value(text), json_string_length(text),
            TOK_SPECIAL, &ids);
        if (!same_ids(&ids, json_object_get(line, "ids")) && wrong[0]++ < 5)
            show(line, &ids);
        tok_decode(t, ids.v, ids.n, 0, &b, &e);
        if (!same_text(&b, json_object_get(line, "decoded")) && wrong[1]++ < 5)
            show(line, &ids);
        ids.n = 0;
        tok_encode(t, s, json_string_value(text), json_string_length(text),
            TOK_SPECIAL | TOK_BOS | TOK_EOS, &ids);
        if (with && !same_ids(&ids, with) && wrong[2]++ < 5)
            show(line, &ids);
        tok_ids_release(&ids);
        buf_release(&b);
    }
    if (f)
        fclose(f);
    ok(n > 100, "%s: %zu cases", name, n);
    ok(wrong[0] == 0, "%s: ids, %zu differ", name, wrong[0]);
    ok(wrong[1] == 0, "%s: decoded, %zu differ", name, wrong[1]);
    ok(wrong[2] == 0, "%s: with the template, %zu differ", name, wrong[2]);
    tok_scratch_free(s);
    tok_free(t);
}

/* Is this pre-tokenizer, put into gpt2.json, recognised? */
static void
test_known(const char *name, json_t *pre)
{
    struct err e = { 0 };
    json_t *j = json_load_file(golden("gpt2.json"), 0, NULL);
    struct tokenizer *t;
    char *s;

    json_object_set(j, "pre_tokenizer", pre);
    s = json_dumps(j, 0);
    t = tok_parse(s, strlen(s), NULL, 0, &e);
    ok(t != NULL, "%s is known %s", name, e.msg);
    tok_free(t);
    json_decref(j);
    free(s);
}

static int
same_pieces(enum split kind, const json_t *text, const json_t *want)
{
    const unsigned char *p = (const unsigned char *)json_string_value(text);
    const unsigned char *const end = p + json_string_length(text);
    size_t i = 0;

    for (; p < end; i++) {
        const size_t k = split_piece(kind, p, end);

        if (json_integer_value(json_array_get(want, i)) != (json_int_t)k)
            return 0;
        p += k;
    }
    return i == json_array_size(want);
}

/* Each pre-tokenizer cuts where it should. */
static void
test_patterns(void)
{
    static const struct {
        const char *name;
        enum split kind;
    } k[] = { { "gpt2", SPLIT_GPT2 }, { "digits", SPLIT_GPT2_DIGITS },
        { "llama3", SPLIT_CL100K }, { "qwen2", SPLIT_CL100K_1 },
        { "tekken", SPLIT_TEKKEN }, { "o200k", SPLIT_O200K },
        { "qwen35", SPLIT_QWEN35 }, { "deepseek", SPLIT_DEEPSEEK } };
    enum { KINDS = sizeof k / sizeof *k };
    FILE *f = fopen(golden("patterns.jsonl"), "r");
    size_t n = 0, wrong[KINDS] = { 0 };
    json_t *line;

    for (; f && (line = next_line(f)) != NULL; n++, json_decref(line))
        for (int i = 0; i < KINDS; i++) {
            if (n == 0)
                test_known(k[i].name, json_object_get(line, k[i].name));
            else
                wrong[i] +=
                    !same_pieces(k[i].kind, json_object_get(line, "text"),
                        json_object_get(line, k[i].name));
        }
    if (f)
        fclose(f);
    ok(n > 500, "patterns: %zu cases", n);
    for (int i = 0; i < KINDS; i++)
        ok(wrong[i] == 0, "%s: pieces, %zu differ", k[i].name, wrong[i]);
}

static void
test_decode(void)
{
    struct tokenizer *t = must_tok(golden("digits.json"));
    FILE *f = fopen(golden("decode.jsonl"), "r");
    size_t n = 0, wrong = 0;
    struct err e;
    json_t *line;
    uint32_t id = 867;
    struct buf out = { 0 };

    for (; f && (line = next_line(f)) != NULL; n++, json_decref(line)) {
        const json_t *a = json_object_get(line, "ids");
        struct tok_ids ids = { 0 };
        struct buf b = { 0 };

        ids.n = json_array_size(a);
        ids.v = xreallocarray(NULL, ids.n + 1, sizeof *ids.v);
        for (size_t i = 0; i < ids.n; i++)
            ids.v[i] = (uint32_t)json_integer_value(json_array_get(a, i));
        tok_decode(t, ids.v, ids.n, 0, &b, &e);
        wrong += !same_text(&b, json_object_get(line, "decoded"));
        buf_clear(&b);
        tok_decode(t, ids.v, ids.n, TOK_SKIP, &b, &e);
        wrong += !same_text(&b, json_object_get(line, "skipped"));
        buf_release(&b);
        tok_ids_release(&ids);
    }
    if (f)
        fclose(f);
    ok(n > 100 && wrong == 0, "decode: %zu cases, %zu differ", n, wrong);
    ok(tok_vocab(t) == 867 && tok_decode(t, &id, 1, 0, &out, &e) < 0 &&
            e.code == EX_INPUT,
        "decode: an id outside is refused");
    buf_release(&out);
    tok_free(t);
}

/* Random text of characters that pre-tokenizers and merges care about. */
static size_t
random_text(uint64_t key, size_t n, char *out)
{
    static const char *const part[] = { " ", "  ", "\n", "\t", "'s", "'", "a",
        "e", "the", " the", "é", "ß", "λ", "ж", "日", "😀", "\xcc\x81", "1",
        "23", "²", "-", ".", "<", "<s>", "<|im_end|>", "ab", "abc", "\xc2\xa0",
        "A", "ing", "\r\n" };
    size_t at = 0;

    for (size_t i = 0; at + 12 < n; i++) {
        const char *s = part[rng_u64(key, i) % (sizeof part / sizeof *part)];

        memcpy(out + at, s, strlen(s));
        at += strlen(s);
    }
    return at;
}

static int
round_trip(const struct tokenizer *t, struct tok_scratch *s, const char *text,
    size_t n, int flags)
{
    struct tok_ids ids = { 0 };
    struct buf b = { 0 };
    struct err e;
    int same;

    tok_encode(t, s, text, n, flags, &ids);
    same = tok_decode(t, ids.v, ids.n, 0, &b, &e) == 0 && b.n == n &&
        (n == 0 || memcmp(b.p, text, n) == 0);
    tok_ids_release(&ids);
    buf_release(&b);
    return same;
}

static void
test_round(const char *name)
{
    char file[40], text[3000];
    struct tokenizer *t;
    struct tok_scratch *s;
    size_t wrong = 0;

    snprintf(file, sizeof file, "%s.json", name);
    t = must_tok(golden(file));
    s = tok_scratch_new(t);
    for (uint64_t k = 0; k < 300; k++) {
        const size_t n = random_text(k, 20 + (size_t)k * 9, text);

        wrong += !round_trip(t, s, text, n, 0) ||
            !round_trip(t, s, text, n, TOK_SPECIAL);
    }
    ok(wrong == 0, "%s: decode(encode(x)) = x, %zu wrong", name, wrong);
    wrong = 0;
    for (uint64_t k = 0; k < 300; k++) {
        const size_t n = (size_t)(rng_u64(77, k) % sizeof text);

        for (size_t i = 0; i < n; i++)
            text[i] = (char)rng_u64(k + 1000, i);
        wrong += !round_trip(t, s, text, n, 0);
    }
    ok(wrong == 0, "%s: the same of any bytes, %zu wrong", name, wrong);
    tok_scratch_free(s);
    tok_free(t);
}

/* A text is encoded alike with a fresh cache and with used ones, also a small
 * one.  Long and short pieces take different paths to the same merges. */
static void
test_paths(void)
{
    struct tokenizer *t = must_tok(golden("gpt2.json"));
    struct tok_scratch *worn[] = { tok_scratch_new(t),
        tok_scratch_share(t, 1000) };
    char text[3000];
    size_t wrong = 0;

    for (uint64_t k = 0; k < 100; k++) {
        const size_t n = random_text(k, 2500, text);
        struct tok_scratch *s = tok_scratch_new(t);
        struct tok_ids a = { 0 }, b = { 0 };

        tok_encode(t, s, text, n, 0, &a);
        tok_encode(t, worn[k % 2], text, n, 0, &b);
        wrong += a.n != b.n || memcmp(a.v, b.v, a.n * sizeof *a.v) != 0;
        tok_ids_release(&a);
        tok_ids_release(&b);
        tok_scratch_free(s);
    }
    ok(wrong == 0, "a worn cache changes nothing, %zu wrong", wrong);
    tok_scratch_free(worn[0]);
    tok_scratch_free(worn[1]);
    tok_free(t);
}

static size_t
next_ids(const struct tokenizer *t, struct symbols *x, uint32_t *id,
    size_t room)
{
    const size_t left = (size_t)(x->end - x->p) / sizeof *id;
    const size_t n = left < room ? left : room;

    (void)t;
    memcpy(id, x->p, n * sizeof *id);
    x->p += n * sizeof *id;
    return n;
}

/* Does merging in windows give what the heap gives for id[n]? */
static int
windows_hold(struct tokenizer *t, struct tok_scratch *s, const uint32_t *id,
    size_t n)
{
    const struct symbols x = { .next = next_ids,
        .p = (const unsigned char *)id,
        .end = (const unsigned char *)(id + n) };
    uint32_t *whole = xreallocarray(NULL, n + 1, sizeof *whole);
    struct tok_ids out = { 0 };
    size_t left;
    int same;

    memcpy(whole, id, n * sizeof *id);
    left = bpe_merge(t, s, whole, n, NULL);
    tok_ids_push(&out, 7);
    window_merge(t, s, &x, &out);
    same = out.n == left + 1 && out.v[0] == 7 &&
        memcmp(out.v + 1, whole, left * sizeof *whole) == 0;
    free(whole);
    tok_ids_release(&out);
    return same;
}

/* Merging in windows is exact for long texts of few symbols, or of parts of
 * merges. */
static void
test_windows(const char *name)
{
    struct tokenizer *t = must_tok(golden(name));
    struct tok_scratch *s = tok_scratch_new(t);
    uint32_t *a = xreallocarray(NULL, 30000, sizeof *a), part[40];
    size_t wrong = 0;

    for (uint64_t k = 0; k < 120; k++) {
        const uint64_t key = rng_key(9, k);
        const size_t n = rng_u64(key, 0) % (k % 12 ? 700 : 30000);

        for (size_t i = 0; i < 40; i++) {
            size_t at = (size_t)rng_u64(key, 1 + i) & t->pair_mask;

            while (t->pair[at].m.rank == TOK_NONE)
                at = (at + 1) & t->pair_mask;
            part[i] = (uint32_t)(t->pair[at].key >> (i % 2 ? 0 : 32));
        }
        for (size_t i = 0; i < n; i++)
            a[i] = i && rng_u64(key, 50 + 2 * i) % 4 < k % 4
                ? a[i - 1]
                : part[rng_u64(key, 51 + 2 * i) % (1 + k % 40)];
        wrong += !windows_hold(t, s, a, n);
    }
    ok(wrong == 0, "%s: windows are the heap's merges, %zu wrong", name, wrong);
    free(a);
    tok_scratch_free(s);
    tok_free(t);
}

/* A long text of few letters, which no pattern cuts, gives the ids of merging
 * by the heap. */
static void
test_unbroken(const char *name)
{
    struct tokenizer *t = must_tok(golden(name));
    struct tok_scratch *s = tok_scratch_new(t);
    uint32_t *id = xreallocarray(NULL, 3000, sizeof *id);
    char *text = xmalloc(3000);
    struct tok_ids out = { 0 };
    size_t wrong = 0, left;

    for (uint64_t k = 0; k < 3000; k++) {
        const uint64_t key = rng_key(15, k);
        const size_t n = 31 + rng_u64(key, 0) % (k % 30 ? 300 : 2900);

        for (size_t i = 0; i < n; i++) {
            const uint64_t r = rng_u64(key, 1 + i);

            text[i] = (char)(i && (r >> 40) % 8 < k % 8
                    ? text[i - 1]
                    : 'a' + (int)(r % (1 + k % 26)));
            id[i] = t->byte_id[(unsigned char)text[i]];
        }
        out.n = 0;
        tok_encode(t, s, text, n, 0, &out);
        left = bpe_merge(t, s, id, n, NULL);
        wrong += out.n != left || memcmp(out.v, id, left * sizeof *id) != 0;
    }
    ok(wrong == 0, "%s: long words are the heap's merges, %zu wrong", name,
        wrong);
    free(id);
    free(text);
    tok_ids_release(&out);
    tok_scratch_free(s);
    tok_free(t);
}

/* When two pairs can merge, the one further right goes first, so the end of a
 * chain of symbols decides how its beginning is cut: windows must be taken
 * back, and none is large enough. */
static void
test_chains(void)
{
    enum { SYMBOLS = 9000, LENGTHS = 8, CHAINS = 40 };
    static const size_t length[LENGTHS] = { 20, 21, 70, 71, 400, 1801, 6001,
        9000 };
    struct buf b = { 0 };
    struct tokenizer *t;
    struct tok_scratch *s = NULL;
    uint32_t *id = xreallocarray(NULL, SYMBOLS * CHAINS, sizeof *id);
    struct err e = { 0 };
    size_t wrong = 0, n = 0;

    buf_adds(&b,
        "{\"pre_tokenizer\":null,\"decoder\":{\"type\":\"Sequence\","
        "\"decoders\":[{\"type\":\"Fuse\"}]},\"model\":{\"type\":\"BPE\","
        "\"vocab\":{");
    for (unsigned i = 0; i < SYMBOLS; i++)
        buf_addf(&b, "\"\\u%04x\":%u,", 0x4e00 + i, i);
    for (unsigned i = 0; i + 1 < SYMBOLS; i++)
        buf_addf(&b, "%s\"\\u%04x\\u%04x\":%u", i ? "," : "", 0x4e00 + i,
            0x4e00 + i + 1, SYMBOLS + i);
    buf_adds(&b, "},\"merges\":[");
    for (unsigned i = SYMBOLS - 1; i > 0; i--)
        buf_addf(&b, "\"\\u%04x \\u%04x\"%s", 0x4e00 + i - 1, 0x4e00 + i,
            i > 1 ? "," : "");
    buf_adds(&b, "]}}");
    t = tok_parse(b.p, b.n, NULL, 0, &e);
    if (t)
        s = tok_scratch_new(t);
    for (uint64_t k = 0; t && k < CHAINS; k++) {
        const size_t most = k < 30 ? 6 : LENGTHS;
        const size_t len = length[rng_u64(13, k) % most];

        for (uint32_t i = 0; i < len; i++)
            id[n++] = i;
        wrong += !windows_hold(t, s, id, n) ||
            !windows_hold(t, s, id + n - len, len);
    }
    for (size_t k = 0; t && k < 100 && 97 * k < n; k++)
        wrong += !windows_hold(t, s, id + 97 * k,
            n - 97 * k < 12000 ? n - 97 * k : 12000);
    ok(t && wrong == 0, "chains from the right: %zu wrong %s", wrong, e.msg);
    buf_release(&b);
    free(id);
    tok_scratch_free(s);
    tok_free(t);
}

/* Merges of longer tokens go first: the first aa grows before a second aa is
 * made. */
static void
test_single(void)
{
    static const char json[] =
        "{\"pre_tokenizer\":{\"type\":\"ByteLevel\","
        "\"add_prefix_space\":false,\"use_regex\":true},\"decoder\":{"
        "\"type\":\"ByteLevel\"},\"model\":{\"vocab\":{\"a\":0,\"aa\":1,"
        "\"aaa\":2,\"aaaa\":3},\"merges\":[\"aaa a\",\"aa a\",\"a a\"]}}";
    struct err e = { 0 };
    struct tokenizer *t = tok_parse(json, strlen(json), NULL, 0, &e);
    struct tok_scratch *s = t ? tok_scratch_new(t) : NULL;
    struct tok_ids ids = { 0 };
    char text[402];
    size_t wrong = 0;

    memset(text, 'a', sizeof text);
    if (t)
        tok_encode(t, s, text, sizeof text, 0, &ids);
    for (size_t i = 0; i < ids.n; i++)
        wrong += ids.v[i] != (i < 100 ? 3 : 1);
    ok(ids.n == 101 && wrong == 0, "the longest first: %zu ids, %zu wrong %s",
        ids.n, wrong, e.msg);
    tok_ids_release(&ids);
    tok_scratch_free(s);
    tok_free(t);
}

/* One byte a million times: quadratic merging would take an hour. */
static void
test_long(void)
{
    const size_t n = 1000000;
    char *text = xmalloc(n);
    static const char letter[] = "a \n-7";
    struct tokenizer *t = must_tok(golden("gpt2.json"));
    struct tok_scratch *s = tok_scratch_new(t);

    for (size_t i = 0; letter[i]; i++) {
        memset(text, letter[i], n);
        ok(round_trip(t, s, text, n, 0), "a million of byte %d", letter[i]);
    }
    tok_scratch_free(s);
    tok_free(t);
    free(text);
}

static void
test_facts(void)
{
    struct tokenizer *t = must_tok(golden("flags.json"));
    struct tokenizer *u = must_tok(golden("digits.json"));
    char a[33], b[33];

    ok(tok_bos(t) == 867 && tok_eos(t) == 868, "BOS and EOS of the template");
    ok(tok_bos(u) == -1 && tok_eos(u) == 0, "EOS by its name");
    ok(tok_id(t, "abc", 3) == 874 && tok_id(t, "nd", 2) >= 0 &&
            tok_id(t, "no such", 7) == -1,
        "ids of texts");
    ok(tok_is_special(t, 0) && !tok_is_special(t, 874), "special or not");
    tok_hash(t, a);
    tok_hash(u, b);
    ok(strlen(a) == 32 && strcmp(a, b) != 0, "hashes %s %s", a, b);
    tok_free(u);
    u = must_tok(golden("flags.json"));
    tok_hash(u, b);
    ok(strcmp(a, b) == 0, "the hash of the same is the same");
    tok_free(u);
    tok_free(t);
}

int
main(void)
{
    test_golden("gpt2");
    test_golden("digits");
    test_golden("flags");
    test_golden("holes");
    test_patterns();
    test_decode();
    test_round("gpt2");
    test_round("digits");
    test_round("flags");
    test_paths();
    test_windows("gpt2.json");
    test_windows("family/llama2.json");
    test_windows("family/gemma3.json");
    test_windows("family/llama3merges.json");
    test_unbroken("gpt2.json");
    test_unbroken("digits.json");
    test_unbroken("family/nemo.json");
    test_chains();
    test_single();
    test_long();
    test_facts();
    return done_testing();
}
