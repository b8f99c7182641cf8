/* Wikitext to plain text. */
#ifndef DOCS_WIKI_H
#define DOCS_WIKI_H

#include "base/mem.h"

/* Append the text of a page: title, an empty line, and what a reader would
 * read.  page[n] is the title, an end of line, and wikitext, both escaped as
 * in XML.  Left out: templates, tables, references, comments, files,
 * categories, links to other languages, formulas.  Takes time in proportion
 * to n. */
void wiki_text(const char *page, size_t n, struct buf *out);

#endif
