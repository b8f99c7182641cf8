/*
 * lib/tok/added: texts with many added tokens that share their beginnings take
 * linear time, and give the tokens that a plain search finds
 */
#include "base/clock.h"
#include "tok/tok.h"

#include "base/mem.h"
#include "base/rng.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

#define BYTE_LEVEL \
    "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"use_regex\":true}"

/* A tokenizer with added tokens a^i b, i = 1 .. runs, and more[n]. */
static struct tokenizer *
with_added(size_t runs, char *const *more, size_t n, int normalized)
{
    struct buf b = { 0 };
    struct tokenizer *t;
    struct err e;

    buf_adds(&b, "{\"added_tokens\":[");
    for (size_t i = 0; i < runs + n; i++) {
        buf_adds(&b, i ? ",{\"content\":\"" : "{\"content\":\"");
        for (size_t k = 0; i < runs && k <= i; k++)
            buf_addc(&b, 'a');
        buf_addf(&b,
            "%s\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
            "\"special\":false,\"normalized\":%s}",
            i < runs ? "b" : more[i - runs], normalized ? "true" : "false");
    }
    buf_adds(&b,
        "],\"normalizer\":{\"type\":\"NFC\"},\"pre_tokenizer\":" BYTE_LEVEL
        ",\"post_processor\":null,\"decoder\":" BYTE_LEVEL
        ",\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,\"b\":1,\"ab\":2},"
        "\"merges\":[\"a b\"]}}");
    t = tok_parse(b.p, b.n, NULL, 0, &e);
    if (!t) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    buf_release(&b);
    return t;
}

/* Bytes of the longest token at the start of p[n], and its *id; 0: none. */
static size_t
token_there(const struct tokenizer *t, const char *p, size_t n, size_t most,
    uint32_t *id)
{
    for (size_t k = n < most ? n : most; k > 1; k--) {
        const int64_t i = tok_id(t, p, k);

        if (i > 2 || (k == 2 && i == 2)) { /* `ab` is in the vocabulary */
            *id = (uint32_t)i;
            return k;
        }
    }
    return 0;
}

/* Tokens that share long beginnings are found as by a search at each place, but
 * in linear time. */
static void
test_shared(int normalized)
{
    char *more[] = { (char *)(uintptr_t) "ba", (char *)(uintptr_t) "bba",
        (char *)(uintptr_t) "caab", (char *)(uintptr_t) "aabc" };
    struct tokenizer *const t = with_added(60, more, 4, normalized);
    struct tok_scratch *const s = tok_scratch_new(t);
    struct tok_ids got = { 0 }, want = { 0 };
    const size_t n = 30000;
    char *const text = xmalloc(8 * n);
    double few = 0.0, many = 0.0;
    int runs = 0;

    for (size_t i = 0; i < n; i++)
        text[i] = "aaaaaaaaaaaaaaaabc"[rng_u64(5, i) % (i < n / 2 ? 18 : 17)];
    memset(text + n / 3, 'a', n / 3);
    tok_encode(t, s, text, n, 0, &got);
    for (size_t i = 0, gap = 0; i <= n;) {
        uint32_t id = 0;
        const size_t k = i < n ? token_there(t, text + i, n - i, 61, &id) : 0;

        if (k == 0 && i < n) {
            i++;
            continue;
        }
        tok_encode(t, s, text + gap, i - gap, 0, &want);
        if (k > 0)
            tok_ids_push(&want, id);
        i += k > 0 ? k : 1;
        gap = i;
    }
    ok(got.n == want.n && memcmp(got.v, want.v, got.n * sizeof *got.v) == 0,
        "tokens in runs are the longest, leftmost first (normalized %d)",
        normalized);
    tok_free(t);
    tok_scratch_free(s);
    memset(text, 'a', 8 * n);
    for (size_t i = 0; i < 2; i++) {
        const size_t depth = i ? 1600 : 100;
        struct tokenizer *const u = with_added(depth, NULL, 0, normalized);
        struct tok_scratch *const x = tok_scratch_new(u);
        double from;

        do {
            from = clock_cpu();
            got.n = 0;
            tok_encode(u, x, text, 8 * n, 0, &got);
            from = clock_cpu() - from;
            *(i ? &many : &few) = from;
        } while (i && !(many < 4 * few + 0.05) && ++runs < 5);
        tok_scratch_free(x);
        tok_free(u);
    }
    ok(many < 4 * few + 0.05,
        "tokens that share 1600 bytes take the time of 100 (normalized %d)",
        normalized);
    printf("# %.3f s, those of 100 %.3f s\n", many, few);
    free(text);
    tok_ids_release(&got);
    tok_ids_release(&want);
}

/* Many tokens are read in linear time. */
static void
test_many_added(void)
{
    const size_t most = 40000;
    char **const name = xreallocarray(NULL, most, sizeof *name);
    double few = 0, many = 0;
    int runs = 0;

    for (size_t i = 0; i < most; i++)
        name[i] = xasprintf("<extra_id_%zu>", i);
    do {
        const double from = clock_cpu();
        double half;

        tok_free(with_added(0, name, most / 4, 1));
        half = clock_cpu();
        tok_free(with_added(0, name, most, 1));
        many = clock_cpu() - half;
        few = half - from;
    } while (!(many < 8 * few + 0.05) && ++runs < 5);
    ok(many < 8 * few + 0.05,
        "tokens are read in a time that grows with their number");
    printf("# %zu tokens %.3f s, a quarter %.3f s\n", most, many, few);
    for (size_t i = 0; i < most; i++)
        free(name[i]);
    free(name);
}

int
main(void)
{
    test_shared(0);
    test_shared(1);
    test_many_added();
    return done_testing();
}
