/* Recognising content that is not text by its first bytes. */
#ifndef DOCS_KIND_H
#define DOCS_KIND_H

#include <stddef.h>

/* Message about content that begins with p[n]: what it is and what to do with
 * it ("is Parquet: ..."); NULL: it is of no known kind. */
const char *kind_of(const char *p, size_t n);

/* kind_of for content whose first NUL byte is p[at]. */
const char *kind_nul(const char *p, size_t n, size_t at);

/* kind_of for a file named name[n] that is HTML, a table or a document, which
 * other programs turn into text; NULL: any other name. */
const char *kind_of_name(const char *name, size_t n);

/* Is p[n] JSONL?  1 if its first line, which may be cut off, is a JSON object.
 */
int kind_is_lines(const char *p, size_t n);

/* Is p[n] the record of a conversation (gen/dialogue.h): a JSON object with
 * messages, or with a prompt and no text? */
int kind_is_conversation(const char *p, size_t n);

/* kind_of for content that is not JSONL, but begins as other JSON does; NULL:
 * p[n] does not. */
const char *kind_of_json(const char *p, size_t n);

/* Is p[n] the beginning of a MediaWiki dump? */
int kind_is_dump(const char *p, size_t n);

#endif
