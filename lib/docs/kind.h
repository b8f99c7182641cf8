/* Recognising content that is not text by its first bytes. */
#ifndef DOCS_KIND_H
#define DOCS_KIND_H

#include <stddef.h>

/* Text for a message: what content that begins with p[n] is, and what to do
 * with it ("is Parquet: ..."); NULL: no known kind. */
const char *kind_of(const char *p, size_t n);

/* Text as of kind_of for content whose first NUL byte is p[at]. */
const char *kind_nul(const char *p, size_t n, size_t at);

/* Text as of kind_of for a file with the name name[n]: HTML, tables and
 * documents, which other programs turn into text; NULL: another name. */
const char *kind_of_name(const char *name, size_t n);

/* Is the first line of p[n], which may be cut off, a JSON object, so that p[n]
 * is JSONL? */
int kind_is_lines(const char *p, size_t n);

/* Text as of kind_of for JSON that is not JSONL; NULL: p[n] is not JSON. */
const char *kind_of_json(const char *p, size_t n);

/* Is p[n] the beginning of a MediaWiki dump? */
int kind_is_dump(const char *p, size_t n);

#endif
