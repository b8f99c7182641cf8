/* Records of event files; see events.h. */
#include "events.h"
#include "base/bytes.h"

#include <stddef.h>
#include <string.h>

/* ---- records ---- */

/* CRC-32C (Castagnoli), reflected, of s[n]. */
static uint32_t
crc32c(const char *s, size_t n)
{
    uint32_t c = 0xffffffff;

    for (size_t i = 0; i < n; i++) {
        c ^= (unsigned char)s[i];
        for (int k = 0; k < 8; k++)
            c = c >> 1 ^ (0x82f63b78 & (0u - (c & 1)));
    }
    return ~c;
}

/* Append v in n bytes, little-endian. */
static void
add_number(struct buf *b, uint64_t v, size_t n)
{
    char bytes[8];

    le_put(bytes, v, n);
    buf_add(b, bytes, n);
}

static void
add_masked_crc(struct buf *b, const char *s, size_t n)
{
    const uint32_t c = crc32c(s, n);

    add_number(b, (uint32_t)((c >> 15 | c << 17) + 0xa282ead8), 4);
}

static void
add_record(struct buf *b, const struct buf *data)
{
    char length[8];

    le_put(length, data->n, 8);
    buf_add(b, length, 8);
    add_masked_crc(b, length, 8);
    buf_add(b, data->p, data->n);
    add_masked_crc(b, data->p, data->n);
}

/* ---- protocol buffers ---- */

enum wire { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void
add_varint(struct buf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        buf_addc(b, (char)((v & 127) | 128));
    buf_addc(b, (char)v);
}

static void
add_field(struct buf *b, unsigned field, enum wire w)
{
    add_varint(b, (field << 3) | (unsigned)w);
}

static void
add_bytes(struct buf *b, unsigned field, const void *p, size_t n)
{
    add_field(b, field, BYTES);
    add_varint(b, n);
    buf_add(b, p, n);
}

static void
add_wall_time(struct buf *b, double t)
{
    uint64_t bits;

    memcpy(&bits, &t, sizeof bits);
    add_field(b, 1, FIXED64);
    add_number(b, bits, 8);
}

/* ---- events ---- */

void
events_begin(struct buf *b)
{
    static const char version[] = "brain.Event:2";
    struct buf e = { 0 };

    add_bytes(&e, 3, version, sizeof version - 1);
    add_record(b, &e);
    buf_release(&e);
}

void
events_scalar(struct buf *b, double wall_time, uint64_t step, const char *tag,
    double value)
{
    struct buf v = { 0 }, summary = { 0 }, e = { 0 };
    const float simple = (float)value;
    uint32_t bits;

    memcpy(&bits, &simple, sizeof bits);
    add_bytes(&v, 1, tag, strlen(tag));
    add_field(&v, 2, FIXED32);
    add_number(&v, bits, 4);
    add_bytes(&summary, 1, v.p, v.n);
    add_wall_time(&e, wall_time);
    add_field(&e, 2, VARINT);
    add_varint(&e, step);
    add_bytes(&e, 5, summary.p, summary.n);
    add_record(b, &e);
    buf_release(&v);
    buf_release(&summary);
    buf_release(&e);
}
