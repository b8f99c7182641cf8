/* Wikitext to plain text. */
#ifndef DOCS_WIKI_H
#define DOCS_WIKI_H

#include "base/mem.h"

/* Append the plain text of a page: title, an empty line, text; nothing if there
 * is no text.  page[n] is the title, a newline, and wikitext; title and
 * wikitext are escaped as in XML.  Templates, tables, references, comments,
 * files, categories, links to other languages and formulas are left out.  Takes
 * O(n) time. */
void wiki_text(const char *page, size_t n, struct buf *out);

#endif
