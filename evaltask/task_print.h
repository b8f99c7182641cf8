/* The report of tasks, as a table for people or lists for programs. */
#ifndef TASK_PRINT_H
#define TASK_PRINT_H

#include "task_score.h"
#include "base/mem.h"
#include "format/sheet.h"

#include <stddef.h>

struct task_args {
    char **spec; /* [n] */
    size_t n;
    const char *items; /* path of the table of all items, or NULL */
    enum format format;
    int per_source, compare;
};
void tasks_print(const struct eval *e, const struct task *t,
    const struct task_args *a, struct buf *b);
/* Append a TSV table with a row for each task, item, model and choice. */
void tasks_items(const struct eval *e, const struct task *t, size_t nt,
    struct buf *b);

#endif
