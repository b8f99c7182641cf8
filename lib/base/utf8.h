/* UTF-8 (Unicode 16, table 3-7: no overlong form, surrogate, or character above
 * 10FFFF). */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define UTF8_BAD UINT32_MAX

/* The character at p < end and its length in bytes.  Of bytes that are no
 * UTF-8: UTF8_BAD, and the length (>= 1) of the longest beginning of a
 * character there, which one U+FFFD replaces (section 3.9). */
uint32_t utf8_next(const unsigned char *p, const unsigned char *end,
    size_t *len);

/* Bytes of the byte order mark that text[n] begins with: 3 or 0. */
static inline size_t
utf8_mark(const char *text, size_t n)
{
    return n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/* Bytes of the character at p (n > 0 bytes left), 0 if it is malformed. */
size_t utf8_len(const unsigned char *p, size_t n);

/* Write c < 0x110000 at `to`, which has room for 4 bytes; returns how many it
 * takes. */
size_t utf8_set(char *to, uint32_t c);
/* Append it. */
void utf8_put(struct buf *b, uint32_t c);

#endif
