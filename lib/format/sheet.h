/*
 * A report for programs, as TSV or as JSON, from the same calls.
 *
 * TSV: each list is a line of column names and a line for each row, with an
 * empty line between two lists.  JSON: one object, whose members are numbers
 * (facts) and lists of objects, which have the columns as members.  SHOWN
 * escapes texts in both.  A number that is not finite is "-" in TSV and null
 * in JSON.
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

/* A cell: a text, a count (size_t), or a number (double) in a format of
 * printf. */
struct sheet_cell {
    const char *text, *fmt;
    size_t n;
    double v;
};
#define TEXT(text)         \
    {                      \
        text, NULL, 0, 0.0 \
    }
#define COUNT(n)           \
    {                      \
        NULL, NULL, n, 0.0 \
    }
#define NUMBER(fmt, v)  \
    {                   \
        NULL, fmt, 0, v \
    }
/* Add n cells; after a row's last cell a new row begins. */
void sheet_cells(struct sheet *s, size_t n, const struct sheet_cell *cell);
#define sheet_row(s, ...)                                    \
    sheet_cells(s,                                           \
        sizeof((const struct sheet_cell[]){ __VA_ARGS__ }) / \
            sizeof(struct sheet_cell),                       \
        (const struct sheet_cell[]){ __VA_ARGS__ })

#endif
