/* Records of JSONL without the trees of a JSON library, which are 50 times as
 * large as some texts. */
#ifndef DOCS_RECORD_H
#define DOCS_RECORD_H

#include "base/mem.h"

#include <stddef.h>

struct span {
    char *p; /* not NUL-terminated; NULL: there is none */
    size_t n;
};

#define RECORD_FIELDS 4 /* most fields that are looked for at once */

/*
 * Find the string members field[k] of the JSON object p[n], which is valid
 * UTF-8; of a name given twice the last counts.  Escapes are decoded in place,
 * so the spans value[k] point into p; span.p is NULL where there is no such
 * member, or it is no string.  A field may be named twice; NULL names none.
 * Returns NULL, or why p[n] is no object, with the offset in *at and p
 * unchanged.
 */
const char *record_fields(char *p, size_t n, const char *const *field, size_t k,
    struct span *value, size_t *at);

/* Append the names of the object's members that are strings, in quotes with
 * commas between them: the first few, and "..." if there are more; up to an
 * escape that record_fields has decoded. */
void record_names(const char *p, size_t n, struct buf *out);

/* All strings of the object that are no names, wherever they are in it, in
 * order, in place of fields: text is all of them, each with a NUL behind it. */
const char *record_strings(char *p, size_t n, struct span *text, size_t *at);

/* Is p[n] a JSON object?  Is it one, or the beginning of one, up to the colon
 * behind its first name at least? */
int record_is_object(const char *p, size_t n);
int record_begins_object(const char *p, size_t n);

#endif
