/* lib/text/unicode_nfc against the tokenizers library's NFC
 * (tests/golden/tok/nfc.txt; scripts/oracle/nfc_cases.py); nfc_quick passes
 * over what is normalized. */
#include "base/clock.h"
#include "base/io.h"
#include "text/unicode.h"
#include "text/unicode_nfc.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

/* Hex code points from *s up to `stop` as UTF-8; *s is then behind `stop`. */
static void
points(const char **s, char stop, struct buf *b)
{
    buf_clear(b);
    while (**s && **s != stop) {
        char *end;

        utf8_put(b, (uint32_t)strtoul(*s, &end, 16));
        *s = *end == ' ' ? end + 1 : end;
    }
    *s += **s == stop;
}

static int
equal(const struct buf *a, const struct buf *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->p, b->p, a->n) == 0);
}

static void
test_golden(void)
{
    const char *top = getenv("RETORT_TOP");
    char *path = xasprintf("%s/tests/golden/tok/nfc.txt", top ? top : ".");
    struct buf text = { 0 }, want = { 0 }, got = { 0 };
    size_t n, lines = 0, wrong = 0, unstable = 0, quick = 0, kept = 0;
    struct err e = { 0 };
    const char *s;
    char *all;

    if (io_slurp(path, (size_t)1 << 24, &all, &n, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    s = strchr(all, '\n');
    for (s = s ? s + 1 : ""; *s; lines++) {
        size_t k;

        s += *s == '!';
        points(&s, '\t', &text);
        points(&s, '\n', &want);
        if (want.n == 0)
            buf_add(&want, text.p, text.n);
        buf_clear(&got);
        nfc_append(text.p, text.n, &got);
        wrong += !equal(&got, &want);
        k = nfc_quick(text.p, text.n);
        quick += k > text.n || (k == text.n && !equal(&text, &want)) ||
            (k <= want.n && memcmp(text.p, want.p, k) != 0);
        kept += k == text.n;
        buf_clear(&got);
        nfc_append(want.p, want.n, &got);
        unstable += !equal(&got, &want);
    }
    ok(lines > 1700, "all %zu texts are read", lines);
    ok(wrong == 0, "texts are normalized, %zu wrongly", wrong);
    ok(unstable == 0, "normalized texts stay, %zu do not", unstable);
    ok(quick == 0 && kept > 0, "what nfc_quick passes over stays (%zu whole)",
        kept);
    buf_release(&text);
    buf_release(&want);
    buf_release(&got);
    free(all);
    free(path);
}

static void
test_bytes(void)
{
    static const char bad[] = "a\xff\xcc"
                              "e\xcc\x81\x80\xe2\x82 \xed\xa0\x80z";
    static const char want[] = "a\xff\xcc\xc3\xa9\x80\xe2\x82 \xed\xa0\x80z";
    const size_t n = (size_t)1 << 20;
    struct buf b = { 0 }, x = { 0 };
    double sec;

    nfc_append(bad, sizeof bad - 1, &b);
    ok(b.n == sizeof want - 1 && memcmp(b.p, want, b.n) == 0,
        "bytes that are no UTF-8 are left alone");
    ok(nfc_quick("plain text", 10) == 10 && nfc_quick("", 0) == 0,
        "plain text is not looked at twice");
    for (size_t i = 0; i < n; i++)
        buf_adds(&x, i % 2 ? "\xcc\x81" : "\xcc\xa3");
    buf_clear(&b);
    sec = clock_cpu();
    nfc_append(x.p, x.n, &b);
    ok(b.n == x.n && memcmp(b.p, "\xcc\xa3\xcc\xa3", 4) == 0 &&
            clock_cpu() - sec < 20,
        "a million marks are sorted");
    buf_release(&b);
    buf_release(&x);
}

int
main(void)
{
    test_golden();
    test_bytes();
    return done_testing();
}
