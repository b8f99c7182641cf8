/* Tasks: items of JSONL files.  A form, a file that a user writes (see
 * evaltask(1)), makes each item into requests, which are scored as in
 * lm-evaluation-harness: by the log probability of a continuation after a
 * context. */
#ifndef TASK_H
#define TASK_H

#include "task_print.h"

/* Read the tasks, score them, write a->items, and append the report to b. */
void tasks_run(struct eval *e, const struct task_args *a, struct buf *b);

#endif
