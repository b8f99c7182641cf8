/*
 * A report for programs, as TSV or as JSON, from the same calls.
 *
 * TSV: each list is a line of column names and a line for each row, with an
 * empty line between two lists.  JSON: one object, whose members are numbers
 * (facts) and lists of objects, which have the columns as members.  Texts are
 * those that SHOWN makes in both; a number that is missing or not finite is
 * "-" in TSV, or an empty cell (sheet_none), and null in JSON.
 */
#ifndef FORMAT_SHEET_H
#define FORMAT_SHEET_H

#include "base/mem.h"

#include <stddef.h>

/* FMT_TEXT is a table for people, which a program prints itself into b. */
enum format { FMT_TEXT, FMT_TSV, FMT_JSON };
extern const char *const format_names[]; /* the words of --format, then NULL */

struct sheet {
    struct buf *b;
    enum format format;
    const char *const *column; /* names of the list at hand, or NULL */
    size_t columns, at;        /* their number; column of the next cell */
    size_t rows, lists, members;
};

/* Append a report to b. */
void sheet_open(struct sheet *s, struct buf *b, enum format format);
void sheet_close(struct sheet *s);
/* A member of the object; TSV has none.  Before all lists. */
void sheet_fact(struct sheet *s, const char *name, size_t value);
/* Begin a list.  column ends with NULL and outlives it. */
void sheet_list(struct sheet *s, const char *name, const char *const *column);
/* The next cell; after the last of a row the next row begins. */
void sheet_text(struct sheet *s, const char *text);
void sheet_count(struct sheet *s, size_t n);
void sheet_number(struct sheet *s, const char *fmt, double v);
void sheet_none(struct sheet *s);

#endif
