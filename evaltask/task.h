/*
 * Tasks: items of JSONL, made into requests by a form (a file that a user
 * writes, see evaltask(1)) and scored as lm-evaluation-harness does: the log
 * probability of a continuation after a context.
 *
 * task_form.c reads forms, task_fill.c fills them with an item's fields, through
 * the filters of task_filter.c; task_read.c makes items of a file, task_ids.c tokens of their texts,
 * task_score.c runs a model over them, task_stat.c and task_print.c report;
 * task.c does it all.
 */
#ifndef TASK_H
#define TASK_H

#include "task_print.h"

/* Reads, scores, writes a->items, and reports into b. */
void tasks_run(struct eval *e, const struct task_args *a, struct buf *b);

#endif
