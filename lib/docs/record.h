/* Parsing JSONL records without building a JSON library's tree, which may take
 * 50 times the memory of the text. */
#ifndef DOCS_RECORD_H
#define DOCS_RECORD_H

#include "base/mem.h"

#include <stddef.h>

struct span {
    char *p; /* not NUL-terminated; NULL: there is none */
    size_t n;
};

#define RECORD_FIELDS 4 /* fields in a call of record_fields, at most */

/*
 * Find the string members field[k] of the JSON object p[n], which is valid
 * UTF-8.
 * - If the object has a name twice, the last counts.
 * - Escapes are decoded in place; value[k] are spans of p.
 * - The span's p is NULL if there is no such member or it is not a string.
 * - field[] may have a name twice, and NULL.
 * Returns NULL; or why p[n] is not an object, with the offset in *at and p
 * unchanged.
 */
const char *record_fields(char *p, size_t n, const char *const *field, size_t k,
    struct span *value, size_t *at);

/* Append the names of the object's string members, quoted and separated by
 * commas: the first few, then "..." if there are more.  If record_fields has
 * decoded escapes in p[n], the list may end early. */
void record_names(const char *p, size_t n, struct buf *out);

/* As record_fields, but find all string values of the object at any depth:
 * *text has them in order, each followed by a NUL. */
const char *record_strings(char *p, size_t n, struct span *text, size_t *at);

/* Is p[n] a JSON object? */
int record_is_object(const char *p, size_t n);
/* Is p[n] a JSON object, or the beginning of one that reaches at least the
 * colon after its first name? */
int record_begins_object(const char *p, size_t n);

#endif
