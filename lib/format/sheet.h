/*
 * A report for programs, as TSV or as JSON, from the same calls.
 *
 * TSV: each list is a line of column names and a line for each row, with an
 * empty line between two lists.  JSON: one object, whose members are numbers
 * (facts) and lists of objects, which have the columns as members.  SHOWN
 * escapes texts in both.  A number that is not finite is "-" in TSV; a missing
 * one (sheet_none) is an empty cell.  Both are null in JSON.
 */
#ifndef FORMAT_SHEET_H
#define FORMAT_SHEET_H

#include "base/mem.h"

#include <stddef.h>

/* FMT_TEXT: a table for people, which the program itself appends to b. */
enum format { FMT_TEXT, FMT_TSV, FMT_JSON };
extern const char *const format_names[]; /* the words of --format, then NULL */

struct sheet {
    struct buf *b;
    enum format format;
    const char *const *column; /* [columns] names of the current list, or
                                * NULL */
    size_t columns;            /* number of columns */
    size_t at;                 /* column of the next cell */
    size_t rows, lists, members;
};

/* Begin a report, which is appended to b. */
void sheet_open(struct sheet *s, struct buf *b, enum format format);
void sheet_close(struct sheet *s);
/* Add a number to the object, before all lists; TSV omits it. */
void sheet_fact(struct sheet *s, const char *name, size_t value);
/* Begin a list.  column ends with NULL and must outlive the list. */
void sheet_list(struct sheet *s, const char *name, const char *const *column);
/* Add the next cell; after a row's last cell a new row begins. */
void sheet_text(struct sheet *s, const char *text);
void sheet_count(struct sheet *s, size_t n);
void sheet_number(struct sheet *s, const char *fmt, double v);
void sheet_none(struct sheet *s);

#endif
