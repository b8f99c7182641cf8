/* Checks of names from files: valid UTF-8, no duplicates. */
#ifndef FORMAT_NAMES_H
#define FORMAT_NAMES_H

#include <stddef.h>

/* Are the n bytes at p well-formed UTF-8 without NUL? */
int utf8_text(const void *p, size_t n);

/* A string that occurs twice in v[n], or NULL; sorts v (n log n). */
const char *names_twice(const char **v, size_t n);

#endif
