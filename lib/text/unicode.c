/* UTF-8; see unicode.h.  The tables are in unicode_table.c. */
#include "text/unicode.h"

#include <string.h>

const unsigned char *
uni_before(const unsigned char *p, const unsigned char *begin)
{
    const unsigned char *q = p - 1;

    while (q > begin && p - q < 4 && (*q & 0xc0) == 0x80)
        q--;
    return q;
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
        if (utf8_next(p, end, &k) == UTF8_BAD)
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
        utf8_next((const unsigned char *)text, (const unsigned char *)text + n,
            &k);
        if (out)
            buf_adds(out, "\xef\xbf\xbd");
        text += k;
        n -= k;
        bad++;
    }
    return bad;
}
