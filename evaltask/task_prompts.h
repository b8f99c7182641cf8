/*
 * Tasks that are prompts of one task, as HPLT-E and NorEval have them: the same
 * items by several forms, whose names are NAME_p0, NAME_p1 and so on.
 * HPLT-E: github.com/hplt-project/hplt-e
 */
#ifndef TASK_PROMPTS_H
#define TASK_PROMPTS_H

#include "task_stat.h"

#include <stddef.h>

/* How many of the nt tasks, from the first on, are prompts of one task; at
 * least 1. */
size_t prompts_of(const struct task *t, size_t nt);
/* The name without "_p" and the number; the caller frees it. */
char *prompts_name(const struct task *t);
/* The figures of the prompt by which the model does best, by the score that its
 * form names; the first of equal ones. */
void prompts_best(const struct eval *e, const struct task *t, size_t n,
    size_t model, struct task_figures *f);
/* The median over prompts of each figure; figures of an even number of prompts
 * are the mean of the two in the middle.  There are no errors and no recovery.
 */
void prompts_median(const struct eval *e, const struct task *t, size_t n,
    size_t model, struct task_figures *f);

#endif
