/* Text for people: see text.h */
#include "base/text.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

/* Can a terminal show u?  Not shown are control characters, and format
 * characters that turn the direction of writing, separate lines, or are
 * invisible.  The joiners (200C, 200D) count as shown: Persian, Hindi and emoji
 * need them. */
static int
is_shown(uint32_t u)
{
    static const uint32_t hidden[][2] = {
        { 0x0000, 0x001f },
        { 0x007f, 0x009f },
        { 0x061c, 0x061c },
        { 0x200b, 0x200b },
        { 0x200e, 0x200f },
        { 0x2028, 0x202e },
        { 0x2060, 0x206f },
        { 0xfeff, 0xfeff },
        { 0xfff9, 0xfffb },
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
    size_t len;
    const uint32_t u = utf8_next(p, p + n, &len);

    if (u != UTF8_BAD && is_shown(u)) {
        memcpy(out, p, len);
        out[len] = '\0';
        return len;
    }
    if (u == UTF8_BAD)
        len = 1;
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
        if (used + n >= size) { /* cut at `whole`, so that "..." fits */
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
    uint32_t u;

    while (i < n && (u = utf8_next(p + i, p + n, &len)) != UTF8_BAD) {
        wide = u >= 0x1100 ? 2 : 1;
        if (wide > columns - used)
            break;
        used += wide;
        i += len;
    }
    return i;
}

int
text_is_plain(const void *s, size_t n)
{
    const unsigned char *p = s;

    for (size_t i = 0; i < n; i++)
        if ((p[i] < 0x20 && p[i] != '\t' && p[i] != '\n' && p[i] != '\r') ||
            p[i] == 0x7f)
            return 0;
    return 1;
}
