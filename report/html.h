/*
 * Text for a page and for a terminal.  On a page the strings of %s are escaped,
 * so that no name can end an element or an attribute.
 */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/mem.h"

/* printf for pages, with %s %d %zu %f %g and flags.  Markup in strings is
 * escaped; bytes that base/text.h does not show, except tabs and newlines,
 * become \xNN. */
void put(struct buf *b, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Write a name as text_show shows it, cut to n < 60 columns with "~" at the
 * cut. */
enum { FITTED = 256 };
char *fitted(char out[FITTED], const char *s, size_t n);

/* Width of shown text in columns. */
size_t columns(const char *s);

#endif
