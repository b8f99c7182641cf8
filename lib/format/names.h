/*
 * Names that come out of files: are they UTF-8, is one of them there twice?
 */
#ifndef FORMAT_NAMES_H
#define FORMAT_NAMES_H

#include "base/mem.h"

#include <stddef.h>

/* Bytes of the UTF-8 character at p (n > 0 bytes left), 0 if it is malformed
 * (Unicode 15, table 3-7: no overlong form, surrogate, or above 10FFFF). */
size_t utf8_len(const unsigned char *p, size_t n);
/* n bytes of well-formed UTF-8 without NUL? */
int utf8_text(const void *p, size_t n);
/* Append the character u (<= 10FFFF). */
void utf8_put(struct buf *b, unsigned long u);

/* A string that is in v[n] twice, or NULL; sorts v (n log n). */
const char *names_twice(const char **v, size_t n);

#endif
