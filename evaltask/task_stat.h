/* Figures of tasks: means over items, and recovery. */
#ifndef TASK_STAT_H
#define TASK_STAT_H

#include "task_score.h"
#include "eval/estimate.h"

#include <stddef.h>

struct task_figures {
    size_t n; /* items */
    double chance;
    struct estimate acc[3]; /* by enum task_score; a cloze has only the first */
    struct estimate ppl;    /* cloze: exp(-(mean logp of the items)) */
    double bits;            /* bits a byte of the right continuations */
    /* 100 (acc - chance) / (base's acc - chance) and its 95 % interval, paired
     * by item; NAN where the base's acc is not significantly above chance */
    double recovery, low, high;
};
/* Figures of one group of a task, or of all its items (group NONE). */
void task_figures(const struct eval *e, const struct task *t, size_t group,
    size_t model, struct task_figures *f);
/* Means over tasks with equal weights: acc[0] of the score that each form
 * names, and `chance`.  `recovery` is the ratio of the tasks' means. */
void task_means(const struct eval *e, const struct task *t, size_t nt,
    size_t model, struct task_figures *f);
/* Score of model a minus score of model b, paired by item.  If nt > 1: mean of
 * the tasks' differences. */
struct estimate task_difference(const struct task *t, size_t nt, size_t group,
    size_t a, size_t b);

#endif
