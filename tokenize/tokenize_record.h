/* Records of JSONL without the trees of a JSON library. */
#ifndef TOKENIZE_RECORD_H
#define TOKENIZE_RECORD_H

#include "base/mem.h"

#include <stddef.h>

struct span {
    char *p;                /* not NUL-terminated */
    size_t n;
};

/*
 * The strings that are the last members `field` and, unless it is NULL,
 * `other` of the JSON object p[n], valid UTF-8; both lie in p, where escapes
 * are replaced.  1; or 0 and p as it was: the object is damaged, lacks one of
 * them, or has what is rare (escapes in names, long numbers, deep nesting), so
 * that a JSON library is to be asked.
 */
int record_fields(char *p, size_t n, const char *field, const char *other,
    struct span *text, struct span *second);

/*
 * The JSON object of which p[n] is the beginning ends in the string of the
 * member `field`, which does not end there: the offset of its first byte,
 * behind the quote.  0: something else is there.
 */
size_t record_opens(const char *p, size_t n, const char *field);

/*
 * Append what the bytes p[n] of such a string stand for to *out; *done: how
 * many were taken, which leaves out an escape that may go on.  1 the quote
 * that ends it has been passed; 0; -1: p[*done] cannot be in a string.
 */
int record_string(const char *p, size_t n, struct buf *out, size_t *done);

#endif
