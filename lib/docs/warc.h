/* WARC, the archive format of web crawls (ISO 28500): the texts of WET files.
 */
#ifndef DOCS_WARC_H
#define DOCS_WARC_H

#include "docs/reader.h"

/* Is p[n] the beginning of a WARC file? */
int warc_begins(const char *p, size_t n);

/*
 * Read the next record of type `conversion`, a page as text, into *rec, which
 * is empty: the page's address (WARC-Target-URI), a newline, the text.  *at
 * becomes the text's offset.  Records that describe the crawl (`warcinfo`,
 * `metadata`) are skipped; others, such as pages as they were fetched, are an
 * error.
 * Returns 1; 0 at the end of the member; -1 and *e.
 */
int warc_next(struct reader *r, struct buf *rec, uint64_t *at, struct err *e);

#endif
