/* Reading items of JSONL, made into requests by a form. */
#ifndef TASK_READ_H
#define TASK_READ_H

#include "task_form.h"

#include <stddef.h>

struct task_item {
    size_t line;            /* line of the file, from 1 */
    size_t group;           /* index in task.group */
    char **context;         /* [n]; equal contexts share memory */
    char **next;            /* [n] delimiter and continuation */
    size_t n;               /* requests: one for each choice; 1 for a cloze */
    size_t right;           /* index of the right request */
    double *chars, *length; /* [n] length of a choice in characters, in bytes */
};

/* Score of a request by one model. */
struct request_score {
    double logp; /* log probability of the continuation, nats */
    int greedy;  /* 1: each token is the most probable one */
    size_t tokens;
};

struct task {
    struct form form;
    char *name, *path;
    struct task_item *item;
    size_t n;
    struct strings group; /* groups that the form's `by` makes, in the order
                           * of the file */
    size_t nrequest;
    size_t *at;                  /* [n] index of an item's first request */
    struct request_score *score; /* [nj][nrequest], for nj models */
};
/* Read the form and the items of spec, FORM=FILE.  Dies if the form or an item
 * is bad. */
void task_open(struct task *t, const char *spec);
void task_close(struct task *t);

#endif
