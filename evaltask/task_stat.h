/* Figures of tasks: means over items. */
#ifndef TASK_STAT_H
#define TASK_STAT_H

#include "task_score.h"
#include "eval/estimate.h"

#include <stddef.h>

struct task_figures {
    size_t n; /* items */
    double chance;
    struct estimate acc[3]; /* by enum task_score; of a cloze the first alone */
    struct estimate ppl;    /* of a cloze: exp(-mean logp of an item) */
    double bits;            /* of the right continuations, a byte of theirs */
    /* 100 (acc - chance) / (base's acc - chance) and its 95 % interval, paired
     * by item; NAN where the base's is not above chance by as much */
    double recovery, low, high;
};
/* Figures of one group of a task, or of all its items (group NONE). */
void task_figures(const struct eval *e, const struct task *t, size_t group,
    size_t model, struct task_figures *f);
/* Mean over tasks, each counting the same, of what form.score names: acc[0],
 * chance, and recovery as the ratio of the means. */
void task_means(const struct eval *e, const struct task *t, size_t nt,
    size_t model, struct task_figures *f);
/* Mean difference of model a - b, paired by item; of several tasks the mean of
 * theirs. */
struct estimate task_difference(const struct task *t, size_t nt, size_t group,
    size_t a, size_t b);

#endif
