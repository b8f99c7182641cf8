/* UTF-8; see unicode.h.  The tables are in unicode_table.c. */
#include "text/unicode.h"

#include <string.h>

uint32_t
uni_next(const unsigned char *p, const unsigned char *end, size_t *len)
{
    const unsigned c = *p;
    unsigned lo = 0x80, hi = 0xbf;      /* limits of the second byte */
    size_t n;
    uint32_t v;

    *len = 1;
    if (c < 0x80)
        return c;
    if (c < 0xc2 || c > 0xf4)
        return UTF8_BAD;
    if (c < 0xe0) {
        n = 2;
        v = c & 0x1f;
    } else if (c < 0xf0) {
        n = 3;
        v = c & 0x0f;
        if (c == 0xe0)
            lo = 0xa0;                  /* no overlong forms */
        else if (c == 0xed)
            hi = 0x9f;                  /* no surrogates */
    } else {
        n = 4;
        v = c & 0x07;
        if (c == 0xf0)
            lo = 0x90;
        else if (c == 0xf4)
            hi = 0x8f;                  /* up to U+10FFFF */
    }
    for (size_t i = 1; i < n; i++, lo = 0x80, hi = 0xbf) {
        if (p + i == end || p[i] < lo || p[i] > hi) {
            *len = i;
            return UTF8_BAD;
        }
        v = v << 6 | (p[i] & 0x3f);
    }
    *len = n;
    return v;
}

const unsigned char *
uni_before(const unsigned char *p, const unsigned char *begin)
{
    const unsigned char *q = p - 1;

    while (q > begin && p - q < 4 && (*q & 0xc0) == 0x80)
        q--;
    return q;
}

void
uni_put(struct buf *b, uint32_t c)
{
    if (c < 0x80) {
        buf_addc(b, (int)c);
        return;
    }
    if (c < 0x800) {
        buf_addc(b, (int)(0xc0 | c >> 6));
    } else {
        if (c < 0x10000) {
            buf_addc(b, (int)(0xe0 | c >> 12));
        } else {
            buf_addc(b, (int)(0xf0 | c >> 18));
            buf_addc(b, (int)(0x80 | (c >> 12 & 0x3f)));
        }
        buf_addc(b, (int)(0x80 | (c >> 6 & 0x3f)));
    }
    buf_addc(b, (int)(0x80 | (c & 0x3f)));
}

size_t
uni_valid(const char *text, size_t n)
{
    const unsigned char *const begin = (const unsigned char *)text;
    const unsigned char *p = begin, *const end = begin + n;
    uint64_t w;
    size_t k;

    while (p < end) {
        while (end - p >= 8) {
            memcpy(&w, p, 8);
            if (w & UINT64_C(0x8080808080808080))
                break;
            p += 8;
        }
        if (p == end)
            break;
        /* most characters, without a call */
        while (end - p >= 3 && *p >= 0xc2 && *p < 0xf0) {
            if ((p[1] & 0xc0) != 0x80)
                break;
            if (*p < 0xe0)
                p += 2;
            else if (*p != 0xe0 && *p != 0xed && (p[2] & 0xc0) == 0x80)
                p += 3;
            else
                break;
        }
        if (p == end)
            break;
        if (uni_next(p, end, &k) == UTF8_BAD)
            break;
        p += k;
    }
    return (size_t)(p - begin);
}

size_t
uni_repair(const char *text, size_t n, struct buf *out)
{
    size_t bad = 0;

    while (n > 0) {
        const size_t good = uni_valid(text, n);
        size_t k;

        if (out)
            buf_add(out, text, good);
        text += good;
        n -= good;
        if (n == 0)
            break;
        uni_next((const unsigned char *)text,
            (const unsigned char *)text + n, &k);
        if (out)
            buf_adds(out, "\xef\xbf\xbd");
        text += k;
        n -= k;
        bad++;
    }
    return bad;
}
