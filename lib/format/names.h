/*
 * Names that come out of files: are they UTF-8, is one of them there twice?
 */
#ifndef FORMAT_NAMES_H
#define FORMAT_NAMES_H

#include <stddef.h>

/* n bytes of well-formed UTF-8 without NUL? */
int utf8_text(const void *p, size_t n);

/* A string that is in v[n] twice, or NULL; sorts v (n log n). */
const char *names_twice(const char **v, size_t n);

#endif
