/* UTF-8 as in table 3-7 of Unicode 16: no overlong forms, no surrogates, no
 * characters above 10FFFF. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UTF8_BAD UINT32_MAX

/* Return the character at p < end, and set *len to its bytes.  If there is no
 * valid character: return UTF8_BAD, and set *len (>= 1) to the bytes that a
 * single U+FFFD replaces, the longest beginning of a valid character (Unicode,
 * section 3.9). */
uint32_t utf8_next(const unsigned char *p, const unsigned char *end,
    size_t *len);

/* Length of the byte order mark at the start of text[n]: 3 or 0. */
static inline size_t
utf8_mark(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Length in bytes of the character at p, where n > 0 bytes are left; 0: it is
 * malformed. */
size_t utf8_len(const unsigned char *p, size_t n);

/* Write c < 0x110000 to `to`, which has room for 4 bytes; returns the number of
 * bytes written. */
size_t utf8_set(char *to, uint32_t c);
/* Append c to b as UTF-8. */
void utf8_put(struct buf *b, uint32_t c);

#endif
