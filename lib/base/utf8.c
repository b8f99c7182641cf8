/* UTF-8; see utf8.h. */
#include "base/utf8.h"

uint32_t
utf8_next(const unsigned char *p, const unsigned char *end, size_t *len)
{
    const unsigned c = *p;
    unsigned lo = 0x80, hi = 0xbf; /* limits of the second byte */
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
            lo = 0xa0; /* no overlong forms */
        else if (c == 0xed)
            hi = 0x9f; /* no surrogates */
    } else {
        n = 4;
        v = c & 0x07;
        if (c == 0xf0)
            lo = 0x90;
        else if (c == 0xf4)
            hi = 0x8f; /* up to U+10FFFF */
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

size_t
utf8_len(const unsigned char *p, size_t n)
{
    size_t len;

    return utf8_next(p, p + n, &len) == UTF8_BAD ? 0 : len;
}

size_t
utf8_set(char *to, uint32_t c)
{
    char *q = to;

    if (c < 0x80) {
        *q++ = (char)c;
        return 1;
    }
    if (c >= 0x10000) {
        *q++ = (char)(0xf0 | c >> 18);
        *q++ = (char)(0x80 | (c >> 12 & 0x3f));
    } else if (c >= 0x800) {
        *q++ = (char)(0xe0 | c >> 12);
    } else {
        *q++ = (char)(0xc0 | c >> 6);
    }
    if (c >= 0x800)
        *q++ = (char)(0x80 | (c >> 6 & 0x3f));
    *q++ = (char)(0x80 | (c & 0x3f));
    return (size_t)(q - to);
}

void
utf8_put(struct buf *b, uint32_t c)
{
    char s[4];

    buf_add(b, s, utf8_set(s, c));
}
