/* The seek table: see seekable.h */
#include "base/bytes.h"
#include "format/seekable.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <xxhash.h>

enum { HEAD = 8, ENTRY = 12, FOOT = 9 };

#define SKIPPABLE 0x184D2A5Eu
#define SEEK_MAGIC 0x8F92EAB1u

uint32_t
seek_sum(const void *content, size_t n)
{
    return (uint32_t)(XXH64(content, n, 0) & 0xffffffffu);
}

size_t
seek_bytes(size_t nframe)
{
    assert(nframe <= SEEK_FRAMES_MAX);
    return HEAD + ENTRY * nframe + FOOT;
}

static void
put32(struct buf *b, uint32_t v)
{
    unsigned char p[4];

    le_put(p, v, sizeof p);
    buf_add(b, p, sizeof p);
}

static uint32_t
get32(const unsigned char *p)
{
    return (uint32_t)le_get(p, 4);
}

void
seek_write(struct buf *b, const struct seek_entry *f, size_t n)
{
    put32(b, SKIPPABLE);
    put32(b, (uint32_t)(seek_bytes(n) - HEAD));
    for (size_t i = 0; i < n; i++) {
        put32(b, f[i].csize);
        put32(b, f[i].dsize);
        put32(b, f[i].sum);
    }
    put32(b, (uint32_t)n);
    buf_addc(b, 0x80);
    put32(b, SEEK_MAGIC);
}

int
seek_parse(const unsigned char *p, size_t n, uint64_t base,
    struct seek_entry **f, size_t *nf, struct err *e)
{
    uint32_t frames;

    if (n < HEAD + FOOT || get32(p + n - 4) != SEEK_MAGIC)
        return err_set(e, EX_INPUT, "offset %" PRIu64 ": no seek table",
            base + n);
    frames = get32(p + n - FOOT);
    if (p[n - 5] != 0x80)
        return err_set(e, EX_INPUT,
            "offset %" PRIu64 ": seek table with "
            "descriptor 0x%02x, not 0x80",
            base + n - 5, p[n - 5]);
    if (frames > SEEK_FRAMES_MAX || seek_bytes(frames) != n ||
        get32(p) != SKIPPABLE || get32(p + 4) != n - HEAD)
        return err_set(e, EX_INPUT,
            "offset %" PRIu64 ": seek table of "
            "%" PRIu32 " frames does not fit its %zu bytes",
            base, frames, n);
    *f = xreallocarray(NULL, frames, sizeof **f);
    *nf = frames;
    for (size_t i = 0; i < frames; i++) {
        const unsigned char *q = p + HEAD + ENTRY * i;

        (*f)[i] = (struct seek_entry){ get32(q), get32(q + 4), get32(q + 8) };
    }
    return 0;
}
