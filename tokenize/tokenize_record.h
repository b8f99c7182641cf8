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

/* Is p[n] a JSON object?  0 also for what is rare. */
int record_is_object(const char *p, size_t n);

#endif
