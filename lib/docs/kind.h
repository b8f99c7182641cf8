/* Content that is no text, known by its first bytes. */
#ifndef DOCS_KIND_H
#define DOCS_KIND_H

#include <stddef.h>

/* The kind of content that begins with p[n], and what to do with it, as a
 * message says it ("is Parquet: ..."); NULL: nothing that is known. */
const char *kind_of(const char *p, size_t n);

/* The same text for content whose first NUL byte is p[at]. */
const char *kind_nul(const char *p, size_t n, size_t at);

/* The kind of a file by its name[n]: HTML, tables and documents, which other
 * programs turn into text; or NULL. */
const char *kind_of_name(const char *name, size_t n);

/* Is p[n], which may be the beginning of more, JSON whose lines are objects:
 * is its first line one, or the beginning of one? */
int kind_is_lines(const char *p, size_t n);

/* The kind of JSON whose lines are no objects; NULL: p[n] is no JSON. */
const char *kind_of_json(const char *p, size_t n);

/* Is it the beginning of a dump of a wiki by MediaWiki? */
int kind_is_dump(const char *p, size_t n);

#endif
