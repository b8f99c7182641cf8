/*
 * Text for a page and for a terminal.  Whatever %s brings into a page is
 * escaped, so that no name can end an element or an attribute.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/mem.h"

/* printf for pages, of %s %d %zu %f %g with flags.  Escaped are markup, and as
 * \xNN, but for tabs and newlines, what base/text.h does not show. */
void put(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* A name as text_show shows it, cut with "~" to n < 60 columns. */
enum { FITTED = 256 };
char *fitted(char out[FITTED], const char *s, size_t n);

/* Columns that shown text takes. */
size_t columns(const char *s);

#endif
