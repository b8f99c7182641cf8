/* lib/tok/scan: cuts made from bit sets, by portable and by vector code, are
 * those of split_piece, for any bytes at any place; and nothing behind the text
 * is read */
#include "tok/scan.h"
#include "tok/tokenizer.h"
#include "text/unicode.h"

#include "base/rng.h"
#include "../lib/tap.h"
#include "tok/tok.h"

#include <stdlib.h>
#include <string.h>

static const enum split kinds[] = { SPLIT_GPT2, SPLIT_GPT2_DIGITS, SPLIT_CL100K,
    SPLIT_CL100K_1, SPLIT_TEKKEN, SPLIT_O200K, SPLIT_QWEN35, SPLIT_DEEPSEEK };
enum { KINDS = sizeof kinds / sizeof *kinds };
static const char *const kind_name[KINDS] = { "gpt2", "digits", "llama3",
    "qwen2", "tekken", "o200k", "qwen35", "deepseek" };

/* Are the pieces of p[n], found as bpe_gap finds them, those of split_piece? */
static int
same_cuts(const struct tok_code *code, enum split kind, const unsigned char *p,
    size_t n)
{
    static struct scan s;
    const unsigned char *const end = p + n;

    while (p < end) {
        size_t i = 0, k, want;

        scan_begin(&s, code, kind, p, end);
        if (s.n == 0 || s.n > (size_t)(end - p))
            return 0;
        for (; i < s.n && (k = scan_piece(&s, i, end)) > 0; i += k) {
            want = split_piece(kind, p + i, end);
            if (k != want) {
                printf("# at %zu of %zu: %zu, not %zu\n", i, n, k, want);
                return 0;
            }
        }
        if (i == 0)
            i = split_piece(kind, p, end);
        p += i;
    }
    return p == end;
}

/* Text of n bytes with no byte behind it that may be read. */
static unsigned char *
exact(const void *text, size_t n)
{
    unsigned char *p = malloc(n ? n : 1);

    return memcpy(p, text, n);
}

/* Random parts: words, spaces, quotes, whole and broken characters. */
static size_t
random_text(uint64_t key, size_t n, unsigned char *out)
{
    static const char *const part[] = { " ", "  ", "\n", "\t", "'s", "'", "a",
        "'LL", "the", " the", "\xc3\xa9", "\xc3\x9f", "\xc3\x97", "\xce\xbb",
        "\xce\x86", "\xce\xa2", "\xd0\xb6", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
        "\xcc\x81", "1", "2345", "\xc2\xb2", "-", ".", "...", "\xc2\xa0", "A",
        "ing", "\r\n", " \n ", "\xe2\x80\xa8", "\xe2\x82", "\x80", "\xc3",
        "\xd9\xa1", "\xe2\x80\x9e", "\xc5\xbf", "'\xc5\xbf", "\xff", "\x1c",
        "\xf0\x9f", "\xcf\xb6", "\xd2\x82", "B", "Camel", "/", "./\n",
        "\xc4\x80", "\xc4\x81", "\xd0\x96", "\xd7\x90", "\xc7\x85", "\xca\xb0",
        "\xe1\xb8\x80", "\xe1\xb8\x81", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz" };
    size_t at = 0;

    for (uint64_t i = 0; at < n; i++) {
        const uint64_t r = rng_u64(key, i);
        const char *s = part[r % (sizeof part / sizeof *part)];
        size_t k = strlen(s);

        if (r >> 60 == 0) { /* any byte */
            out[at++] = (unsigned char)(r >> 20);
            continue;
        }
        if (k > n - at)
            k = n - at;
        memcpy(out + at, s, k);
        at += k;
    }
    return at;
}

static void
test_random(const struct tok_code *code, int kind)
{
    static unsigned char text[3 * SCAN_BYTES + 300];
    int same = 1;

    for (uint64_t key = 0; same && key < 4000; key++) {
        const size_t n = random_text(key, (size_t)(key % 300), text);
        unsigned char *p = exact(text, n);

        same = same_cuts(code, kinds[kind], p, n);
        free(p);
    }
    for (uint64_t key = 0; same && key < 150; key++) {
        const size_t n =
            random_text(key, 2 * SCAN_BYTES + 100 + (size_t)key, text);
        unsigned char *p = exact(text, n);

        same = same_cuts(code, kinds[kind], p, n);
        free(p);
    }
    ok(same, "%s %s: random texts", code->name, kind_name[kind]);
}

/* Test each character between letters, at each place of a block, and runs
 * longer than a stretch. */
static void
test_every(const struct tok_code *code, int kind)
{
    static const char *const run[] = { "a", "\xc3\xa9", " ", "\n", "7", "-",
        "\xe2\x80\xa8", "\xe6\x97\xa5", " \n", "a1", "A", "B\xcc\x81", "aB" };
    struct buf b = { 0 };
    unsigned char *p;
    int same;

    for (uint32_t c = 0; c < 0x110000; c++) {
        if (c >= 0xd800 && c < 0xe000)
            continue;
        buf_addc(&b, 'x');
        utf8_put(&b, c);
        buf_adds(&b, c % 3 ? "x " : " ");
    }
    p = exact(b.p, b.n);
    ok(same_cuts(code, kinds[kind], p, b.n), "%s %s: every character",
        code->name, kind_name[kind]);
    free(p);
    same = 1;
    for (size_t i = 0; i < sizeof run / sizeof *run; i++)
        for (size_t n = SCAN_BYTES - 70; n < SCAN_BYTES + 70 && same; n++) {
            buf_clear(&b);
            buf_adds(&b, "x. ");
            while (b.n < n)
                buf_adds(&b, run[i]);
            buf_adds(&b, "y's 12\n");
            p = exact(b.p, b.n);
            same = same_cuts(code, kinds[kind], p, b.n) &&
                same_cuts(code, kinds[kind], p + 3, b.n - 10);
            free(p);
        }
    ok(same, "%s %s: long runs", code->name, kind_name[kind]);
    buf_release(&b);
}

/* Does tok_valid find what uni_valid finds?  Sequences of two bytes (of four,
 * in texts of 80 bytes) at which UTF-8's rules change stand at many places of
 * texts of many lengths. */
static void
test_valid(const struct tok_code *code)
{
    static const unsigned char some[] = { 'a', 0x7f, 0x80, 0x8f, 0x90, 0x9f,
        0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef,
        0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff };
    enum { SOME = sizeof some };
    const struct tokenizer t = { .code = code };
    size_t wrong = 0, bad = 0;

    for (size_t n = 0; n < 260; n += n < 8 || n > 60 ? 1 : 12)
        for (size_t k = 0; k < SOME * SOME * (n == 80 ? SOME * SOME : 1); k++) {
            unsigned char *p = malloc(n ? n : 1), four[4];
            const size_t at = n < 4 ? 0 : (n * 7 + k) % (n - 3);
            size_t want, got;

            for (size_t i = 0, x = k; i < 4; i++, x /= SOME)
                four[i] = some[x % SOME];
            for (size_t i = 0; i < n; i++)
                p[i] = i % 5 == 3 ? 0xc3 : i % 5 == 4 ? 0xa9 : 'x';
            memcpy(p + at, four, n < 4 ? n : 4);
            want = uni_valid((char *)p, n);
            got = tok_valid(&t, (char *)p, n);
            wrong += want != got || (code->valid && code->valid(p, n) > want);
            bad += want < n;
            free(p);
        }
    ok(wrong == 0 && bad > 10000,
        "%s: what is UTF-8, %zu wrong of %zu bad "
        "texts",
        code->name, wrong, bad);
}

int
main(void)
{
    static const char *const name[] = { "ref", "avx2", "avx512", "neon" };
    struct err e;

    ok(scan_choose("sse9", &e) == NULL && e.code == EX_USAGE,
        "an unknown one is refused");
    for (size_t i = 0; i < 4; i++) {
        const struct tok_code *code = scan_choose(name[i], &e);

        for (int k = 0; code && k < KINDS; k++) {
            test_random(code, k);
            test_every(code, k);
        }
        if (code)
            test_valid(code);
        else
            tap_skip(name[i], "not this processor");
    }
    return done_testing();
}
