/* lib/tok/tok: texts without a place to cut take linear time and little
 * memory beside their ids, in every family. */
#include "../lib/tap.h"
#include "../lib/tok_open.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/prog.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

static const char *const family[] = { "gpt2", "digits", "family/llama3",
    "family/qwen", "family/nemo", "family/llama2", "family/mistral3",
    "family/gemma", "family/gemma3", "family/spunk", "family/tekken-v7" };

/* Kinds of texts: each repeats its part[n] in random order.  With one part the
 * text is a run. */
static const struct kind {
    const char *name, *part[12];
    size_t n;
} kind[] = {
    { "one letter", { "a" }, 1 },
    { "spaces", { " " }, 1 },
    { "line ends", { "\n" }, 1 },
    { "marks", { "\xe2\x96\x81" }, 1 },
    { "two letters", { "a", "b" }, 2 },
    { "letters", { "e", "t", "a", "o", "i", "n", "s", "r", "h", "l", "d", "u" },
        12 },
    { "words",
        { "the", "house", "of", "ing", "tion", "er", "and", "un", "Europe", "s",
            "recht", "ische" },
        12 },
    { "letters of all kinds",
        { "\xc3\xa9", "\xd0\xb6", "\xce\xbb", "\xe6\x97\xa5", "\xe0\xb8\x81",
            "a", "\xe2\x96\x81" },
        7 },
    { "combining marks", { "\xcc\x81", "\xcc\xa3" }, 2 },
    { "digits", { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9" }, 10 },
    { "punctuation", { "-", "=", "*", ".", "/", "#", "'", "(" }, 8 },
    { "blanks", { " ", "\t", "\n" }, 3 },
};
#define KINDS (sizeof kind / sizeof *kind)
#define SMALL ((size_t)50000)
#define LARGE (4 * SMALL)

static size_t
make_text(const struct kind *k, size_t n, char *text)
{
    size_t at = 0;

    for (uint64_t i = 0; at + 8 < n; i++) {
        const char *s = k->part[k->n > 1 ? rng_u64(3, i) % k->n : 0];
        const size_t len = strlen(s);

        memcpy(text + at, s, len);
        at += len;
    }
    return at;
}

static double
time_of(const struct tokenizer *t, struct tok_scratch *s, const char *text,
    size_t n)
{
    struct tok_ids ids = { 0 };
    const double from = clock_cpu();

    tok_encode(t, s, text, n, 0, &ids);
    tok_ids_release(&ids);
    return clock_cpu() - from;
}

static struct tokenizer *
open_family(const char *name)
{
    const char *top = getenv("RETORT_TOP");
    char *path = xasprintf("%s/tests/golden/tok/%s%s", top ? top : ".", name,
        strstr(name, "tekken") ? "/tekken.json" : ".json");
    struct tokenizer *t = must_tok(path);

    free(path);
    return t;
}

/* A text four times as long takes about four times as long; it would take 16
 * times if time were quadratic.  A disturbed measurement is repeated. */
static void
test_time(const char *name)
{
    struct tokenizer *t = open_family(name);
    struct tok_scratch *s = tok_scratch_new(t);
    char *text = xmalloc(LARGE);
    size_t wrong = 0;

    for (size_t i = 0; i < KINDS; i++) {
        const size_t small = make_text(&kind[i], SMALL, text);
        const double few = time_of(t, s, text, small);
        const size_t large = make_text(&kind[i], LARGE, text);
        double many;
        int runs = 0;

        do
            many = time_of(t, s, text, large);
        while (!(many < 8 * few + 1e-3) && ++runs < 8);
        if (!(many < 8 * few + 1e-3)) {
            printf("# %s: %zu bytes %.4f s, %zu bytes %.4f s\n", kind[i].name,
                small, few, large, many);
            wrong++;
        }
    }
    ok(wrong == 0, "%s: time is linear, %zu kinds of text are not", name,
        wrong);
    free(text);
    tok_scratch_free(s);
    tok_free(t);
}

/* The memory that encoding takes besides the text and its ids is bounded. */
static void
test_memory(const char *name)
{
    const size_t n = 6000000, most = 3u << 20;
    struct tokenizer *t = open_family(name);
    struct tok_scratch *s = tok_scratch_new(t);
    char *text = xmalloc(n);
    struct tok_ids ids = { xmalloc(n * sizeof *ids.v), 0, n };
    size_t before, after;

    memset(ids.v, 1, n * sizeof *ids.v);
    make_text(&kind[6], n, text);
    tok_encode(t, s, text, 100000, 0, &ids); /* caches and tables */
    for (size_t i = 0; i < 3; i++) {
        make_text(&kind[i ? i : 6], n, text);
        before = prog_peak();
        ids.n = 0;
        tok_encode(t, s, text, n, 0, &ids);
        after = prog_peak();
        ok(before > n && after - before < most,
            "%s, %s: %zu KiB more for %zu "
            "KiB of text",
            name, kind[i ? i : 6].name, (after - before) >> 10, n >> 10);
    }
    free(text);
    tok_ids_release(&ids);
    tok_scratch_free(s);
    tok_free(t);
}

int
main(void)
{
    for (size_t i = 0; i < sizeof family / sizeof *family; i++)
        test_time(family[i]);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    test_memory("gpt2");
    test_memory("family/llama2");
    test_memory("family/mistral3");
    test_memory("family/gemma3");
#endif
    return done_testing();
}
