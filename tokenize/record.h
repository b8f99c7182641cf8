/* Records of JSONL without the trees of a JSON library, which are 50 times as
 * large as some texts. */
#ifndef TOKENIZE_RECORD_H
#define TOKENIZE_RECORD_H

#include <stddef.h>

struct span {
    char *p; /* not NUL-terminated; NULL: there is none */
    size_t n;
};

/*
 * The strings that are the last members `field` and, unless it is NULL,
 * `other` of the JSON object p[n], valid UTF-8; both lie in p, where escapes
 * are replaced.  A span without p: there is no such member, or another value.
 * Returns NULL; or why p[n] is no object, at *at, and p as it was.
 */
const char *record_fields(char *p, size_t n, const char *field,
    const char *other, struct span *text, struct span *second, size_t *at);

/* Is p[n] a JSON object? */
int record_is_object(const char *p, size_t n);

#endif
