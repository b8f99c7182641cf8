/*
 * Text that is encoded as it is read, whatever it is, has the ids that it has
 * as a whole: random texts of what patterns, normalizers and added tokens find
 * hard, in small stretches.
 */
#define LEAST ((size_t)64)
#include "../../lib/data/tokenizer_open.c"

#include "base/rng.h"

#include "../tap.h"

#include <stdio.h>

#define TEXTS 150
#define SOME 12         /* tokenizers that read on nearly always */

/* Kinds of text, each with what it is made of. */
static const char *const kind[][12] = {
    { "a", "b", "the", "e", "n" },
    { "a", "B", "\xc3\x84", "\xc3\x9f", "Z" },
    { "\xe4\xb8\xad", "\xe6\x96\x87", "\xe3\x81\x82", "a" },
    { "A", "B", "\xe4\xb8\xad", "C", "d" },
    { " ", "  ", "\n", "\t", "\xc2\xa0", " \n", "\r\n", "x" },
    { " ", "    ", "  " }, { "\n", "\n\n", " \n" },
    { "=", "-", "'", "''", "!", "/", "\n" },
    { "'", "'s", "'ll", "x", "''" },
    { "1", "2", "345", "\xd9\xa3", "7" },
    { "e\xcc\x81", "o\xcc\x88\xcc\xa3", "\xcc\x81", "k", "\xe1\x84\x80",
        "\xe1\x85\xa1" },
    { "<think>", "</s>", "<s>", "<|endoftext|>", "a", "\n\n", "<", "|>" },
    { "a", " b", "\xe2\x96\x81", "  c", ".", "\n", "'s", "9" },
    { "\xf0\x9f\x98\x80", "\xf0\x9f\x91\x8d", "\xe2\x80\x8d" }
};
#define KINDS (sizeof kind / sizeof *kind)

struct source {
    const char *p, *end;
    uint64_t seed, n;
    struct tok_ids taken;
};

static uint64_t
number(struct source *s, uint64_t most)
{
    return rng_u64(s->seed, s->n++) % most;
}

static int
read_some(void *ctx, struct buf *text)
{
    struct source *s = ctx;
    const size_t left = (size_t)(s->end - s->p);
    size_t n = 1 + (size_t)number(s, 90);

    while (n < left && ((unsigned char)s->p[n] & 0xc0) == 0x80)
        n++;
    n = n < left ? n : left;
    buf_add(text, s->p, n);
    s->p += n;
    return n > 0;
}

static size_t
take_some(void *ctx, struct tok_ids *ids, size_t n)
{
    struct source *s = ctx;

    for (size_t i = 0; i < n; i++)
        tok_ids_push(&s->taken, ids->v[i]);
    memmove(ids->v, ids->v + n, (ids->n - n) * sizeof *ids->v);
    ids->n -= n;
    return n;
}

static void
make_text(struct source *s, struct buf *b)
{
    for (uint64_t parts = 1 + number(s, 4); parts > 0; parts--) {
        const char *const *k = kind[number(s, KINDS)];
        size_t of = 0;

        while (of < 12 && k[of])
            of++;
        for (uint64_t i = number(s, 400); i > 0; i--)
            buf_adds(b, k[number(s, of)]);
    }
}

/* 1: the ids differ; *open: texts that were encoded this way. */
static int
one_text(const struct tokenizer *t, struct tok_scratch *scratch,
    uint64_t seed, int special, size_t *open)
{
    struct source s = { .seed = seed };
    const struct tok_more more = { read_some, take_some, &s };
    struct tok_ids want = { 0 }, got = { 0 };
    struct buf all = { 0 }, text = { 0 };
    struct err e;
    int k, middle = 0, bad = 0, any = 0;

    make_text(&s, &all);
    s.p = all.p;
    s.end = all.p + all.n;
    tok_encode(t, scratch, all.p, all.n, special, &want);
    while (read_some(&s, &text)) {
        k = tok_encode_open(t, scratch, &text, special | (middle ?
            TOK_MIDDLE : 0), &more, &got, &e);
        bad |= k < 0;
        middle |= k > 0;
        any |= k > 0;
    }
    if (text.n > 0)
        tok_encode(t, scratch, text.p, text.n, special | (middle ?
            TOK_MIDDLE : 0), &got);
    for (size_t i = 0; i < got.n; i++)
        tok_ids_push(&s.taken, got.v[i]);
    bad |= s.taken.n != want.n || (want.n > 0 &&
        memcmp(s.taken.v, want.v, want.n * sizeof *want.v) != 0);
    *open += any != 0;
    if (bad)
        printf("# text %llu\n", (unsigned long long)seed);
    tok_ids_release(&want);
    tok_ids_release(&got);
    tok_ids_release(&s.taken);
    buf_release(&all);
    buf_release(&text);
    return bad;
}

int
main(void)
{
    static const char *const name[] = { "digits", "gpt2", "family/gemma",
        "family/gemma3", "family/llama2", "family/llama3", "family/mistral3",
        "family/nemo", "family/qwen", "family/spfuse", "family/spunk",
        "family/spbytes",
        /* These have to have all of some texts. */
        "flags", "family/llama2flags", "family/qwenflags" };
    const char *top = getenv("RETORT_TOP");

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        char path[4096];
        struct tokenizer *t;
        struct tok_scratch *s;
        struct err e;
        size_t open = 0;
        int bad = 0;

        snprintf(path, sizeof path, "%s/tests/golden/tok/%s.json",
            top ? top : ".", name[i]);
        t = tok_open(path, &e);
        ok(t != NULL, "%s: %s", name[i], t ? "opens" : e.msg);
        if (!t)
            continue;
        s = tok_scratch_new(t);
        for (uint64_t n = 0; n < TEXTS; n++)
            bad += one_text(t, s, n, n % 2 ? TOK_SPECIAL : 0, &open);
        ok(bad == 0 && (i >= SOME || open > TEXTS / 3), "%s: %d of %d "
            "differ, %zu were read on", name[i], bad, TEXTS, open);
        tok_scratch_free(s);
        tok_free(t);
    }
    return done_testing();
}
