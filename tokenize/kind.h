/* Content that is no text, known by its first bytes. */
#ifndef TOKENIZE_KIND_H
#define TOKENIZE_KIND_H

#include <stddef.h>

/* What content is that begins with p[n], and what to do with it, as a message
 * says it ("is Parquet: ..."); NULL: nothing that is known. */
const char *kind_of(const char *p, size_t n);

/* The same of content whose first NUL byte is p[at]. */
const char *kind_nul(const char *p, size_t n, size_t at);

/* Is p[n], which may be the beginning of more, JSON whose lines are objects:
 * is its first line one? */
int kind_is_lines(const char *p, size_t n);

#endif
