/* Running tasks.  A task is a JSONL file of items and a form, which makes each
 * item into requests (see evaltask(1)).  A request is scored as in
 * lm-evaluation-harness: by the log probability of a continuation after a
 * context. */
#ifndef TASK_H
#define TASK_H

#include "task_print.h"

/* Read the tasks, score them, write the file a->items if it is not NULL, and
 * append the report to b. */
void tasks_run(struct eval *e, const struct task_args *a, struct buf *b);

#endif
