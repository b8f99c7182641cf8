/* Text for people: see text.h */
#include "base/text.h"

#include <stdint.h>
#include <string.h>

size_t
utf8_len(const unsigned char *p, size_t n)
{
    unsigned lo = 0x80, hi = 0xbf;
    size_t len;

    if (p[0] < 0x80)
        return 1;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return 0;
    len = p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
    if (len > n)
        return 0;
    if (p[0] == 0xe0)
        lo = 0xa0;
    else if (p[0] == 0xed)
        hi = 0x9f;
    else if (p[0] == 0xf0)
        lo = 0x90;
    else if (p[0] == 0xf4)
        hi = 0x8f;
    if (p[1] < lo || p[1] > hi)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return len;
}

/* The character of len bytes at p. */
static uint32_t
character(const unsigned char *p, size_t len)
{
    uint32_t u = len == 1 ? p[0] : p[0] & (0x7fu >> len);

    for (size_t i = 1; i < len; i++)
        u = u << 6 | (p[i] & 63u);
    return u;
}

/* Control characters, and format characters of no letter: those that turn the
 * direction of writing, separate lines, or are nothing but hidden.  The
 * joiners (200C, 200D) belong to Persian, Hindi and emoji and stay. */
static int
is_shown(uint32_t u)
{
    static const uint32_t hidden[][2] = {
        { 0x0000, 0x001f }, { 0x007f, 0x009f }, { 0x061c, 0x061c },
        { 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e },
        { 0x2060, 0x206f }, { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb },
        { 0xe0000, 0xe0fff },
    };

    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        if (u >= hidden[i][0] && u <= hidden[i][1])
            return 0;
    return 1;
}

size_t
text_char(char out[TEXT_CHAR], const char *s, size_t n)
{
    static const char hex[] = "0123456789abcdef";
    const unsigned char *p = (const unsigned char *)s;
    size_t len = utf8_len(p, n);

    if (len > 0 && is_shown(character(p, len))) {
        memcpy(out, p, len);
        out[len] = '\0';
        return len;
    }
    len += len == 0;
    for (size_t i = 0; i < len; i++, out += 4) {
        memcpy(out, "\\x", 2);
        out[2] = hex[p[i] >> 4];
        out[3] = hex[p[i] & 15];
    }
    *out = '\0';
    return len;
}

const char *
text_show(char *out, size_t size, const char *s)
{
    char one[TEXT_CHAR];
    size_t left = strlen(s), used = 0, whole = 0, n;

    for (; left > 0; used += n) {
        const size_t taken = text_char(one, s, left);

        n = strlen(one);
        if (used + n >= size) {         /* "..." after what leaves room */
            memcpy(out + whole, "...", 4);
            return out;
        }
        memcpy(out + used, one, n);
        s += taken;
        left -= taken;
        if (used + n + 4 <= size)
            whole = used + n;
    }
    out[used] = '\0';
    return out;
}

size_t
text_fit(const char *s, size_t n, size_t columns)
{
    const unsigned char *p = (const unsigned char *)s;
    size_t i = 0, used = 0, len, wide;

    while (i < n && (len = utf8_len(p + i, n - i)) > 0) {
        wide = character(p + i, len) >= 0x1100 ? 2 : 1;
        if (wide > columns - used)
            break;
        used += wide;
        i += len;
    }
    return i;
}
