/* lib/format: frames and the seek table */
#include "base/io.h"
#include "format/frame.h"
#include "format/seekable.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

/* Text that compresses, of n bytes. */
static unsigned char *
content(size_t n)
{
    unsigned char *p = xmalloc(n);
    uint32_t x = 1;

    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        p[i] = (unsigned char)(x >> 24 & (i / 100 % 2 ? 3 : 255));
    }
    return p;
}

static void
test_sizes(enum codec c)
{
    static const size_t size[] = { 1, 2, 100, 65536, 1 << 20, 3 << 20 };
    struct frame_dec *d = frame_dec_new(c);
    struct err e = { 0 };

    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int level = 0; level < 6; level += 5) {
            struct frame_enc *f = frame_enc_new(c, level);
            const size_t n = size[i];
            unsigned char *p = content(n), *q = xmalloc(n + 1);
            struct buf b = { 0 }, again = { 0 };
            char what[64];

            snprintf(what, sizeof what, "%s -%d, %zu bytes", codec_names[c],
                level, n);
            q[n] = 77;
            ok(frame_encode(f, p, n, &b, &e) == 0 &&
                    frame_encode(f, p, n, &again, &e) == 0 && b.n == again.n &&
                    memcmp(b.p, again.p, b.n) == 0,
                "%s: they are compressed twice to the same frame", what);
            ok(frame_decode(d, b.p, b.n, q, n, &e) == 0 &&
                    memcmp(p, q, n) == 0 && q[n] == 77,
                "%s: they come back %s", what, e.msg);
            memset(q, 0, n);
            ok(frame_decode_start(d, b.p, b.n, q, n / 3, &e) == 0 &&
                    memcmp(p, q, n / 3) == 0,
                "a third of %s comes back %s", what, e.msg);
            ok(frame_decode_start(d, b.p, b.n, q, n + 1, &e) < 0 &&
                    e.code == EX_INPUT,
                "no more than %s is read: %s", what, e.msg);
            ok(n < 3 ||
                    (frame_decode_start(d, b.p, 20, q, n, &e) < 0 &&
                        e.code == EX_INPUT),
                "a part of the frame of %s is refused: %s", what, e.msg);
            e.msg[0] = '\0';
            ok(frame_decode(d, b.p, b.n, q, n + 1, &e) < 0 &&
                    e.code == EX_INPUT,
                "%s: they are refused as one byte more: %s", what, e.msg);
            ok(frame_decode(d, b.p, b.n, q, n - 1, &e) < 0 &&
                    e.code == EX_INPUT,
                "%s: they are refused as one byte less: %s", what, e.msg);
            e.msg[0] = '\0';
            buf_add(&b, again.p, again.n);
            ok(frame_decode(d, b.p, b.n, q, n, &e) < 0 && e.code == EX_INPUT,
                "two frames of %s are refused: %s", what, e.msg);
            e.msg[0] = '\0';
            buf_release(&b);
            buf_release(&again);
            free(p);
            free(q);
            frame_enc_free(f);
        }
    frame_dec_free(d);
}

/* A flipped bit never gives other content.  (It may give the same: decoders
 * ignore a reserved bit, which is why shards keep a hash of the frame too.) */
static void
test_flips(enum codec c)
{
    struct frame_enc *f = frame_enc_new(c, 0);
    struct frame_dec *d = frame_dec_new(c);
    const size_t n = 3000;
    unsigned char *p = content(n), *q = xmalloc(n);
    struct buf b = { 0 };
    struct err e;
    size_t wrong = 0, same = 0, cuts = 0;

    frame_encode(f, p, n, &b, &e);
    for (size_t i = 0; i < b.n * 8; i++) {
        b.p[i / 8] = (char)(b.p[i / 8] ^ 1 << i % 8);
        if (frame_decode(d, b.p, b.n, q, n, &e) == 0) {
            wrong += memcmp(p, q, n) != 0;
            same++;
        }
        b.p[i / 8] = (char)(b.p[i / 8] ^ 1 << i % 8);
    }
    ok(wrong == 0 && same < 64,
        "%s: %zu flipped bits, none gives other "
        "content, %zu do not matter",
        codec_names[c], b.n * 8, same);
    for (size_t i = 0; i < b.n; i++)
        cuts += frame_decode(d, b.p, i, q, n, &e) == 0;
    ok(cuts == 0, "%s: every cut is refused", codec_names[c]);
    buf_release(&b);
    free(p);
    free(q);
    frame_enc_free(f);
    frame_dec_free(d);
}

static void
test_table(void)
{
    /* Written by hand from the format's description. */
    static const unsigned char want[] = { 0x5e, 0x2a, 0x4d, 0x18, 33, 0, 0, 0,
        1, 0, 0, 0, 2, 1, 0, 0, 0x78, 0x56, 0x34, 0x12, 5, 0, 0, 0, 0, 0, 1, 0,
        0xff, 0xff, 0xff, 0xff, 2, 0, 0, 0, 0x80, 0xb1, 0xea, 0x92, 0x8f };
    const struct seek_entry f[2] = { { 1, 258, 0x12345678 },
        { 5, 65536, 0xffffffff } };
    struct seek_entry *g = NULL;
    struct buf b = { 0 };
    struct err e = { 0 };
    size_t n, bad = 0;

    seek_write(&b, f, 2);
    ok(b.n == sizeof want && b.n == seek_bytes(2) &&
            memcmp(b.p, want, b.n) == 0,
        "a seek table is written");
    ok(seek_parse(want, sizeof want, 0, &g, &n, &e) == 0 && n == 2 &&
            memcmp(g, f, sizeof f) == 0,
        "a seek table comes back %s", e.msg);
    free(g);
    for (size_t i = 0; i < sizeof want; i++) {
        unsigned char copy[sizeof want];

        memcpy(copy, want, sizeof want);
        if (i >= 8 && i < 32)
            continue;
        copy[i] ^= 16;
        bad += seek_parse(copy, sizeof copy, 0, &g, &n, &e) == 0;
        if (i < sizeof want - 1)
            bad += seek_parse(want, i, 0, &g, &n, &e) == 0;
    }
    ok(bad == 0, "damage outside the entries is refused: %s", e.msg);
    /* xxhsum -H1 of "abc" with seed 0 is 44bc2cf5ad770999. */
    ok(seek_sum("abc", 3) == 0xad770999u, "checksum is the low half of XXH64");
    buf_release(&b);
}

int
main(void)
{
    for (enum codec c = CODEC_ZSTD; c <= CODEC_LZ4; c++) {
        test_sizes(c);
        test_flips(c);
    }
    test_table();
    return done_testing();
}
