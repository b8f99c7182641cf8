/* Items of JSONL, made into requests by a form. */
#ifndef TASK_READ_H
#define TASK_READ_H

#include "task_form.h"

#include <stddef.h>

struct task_item {
    size_t line;            /* of the file, from 1 */
    size_t group;           /* index in task.group */
    char **context;         /* [n]; those that are the same are one */
    char **next;            /* [n] continuations, the delimiter before them */
    size_t n;               /* requests: 1 of a cloze */
    size_t right;           /* the answer's */
    double *chars, *length; /* [n] of the choices, in characters and bytes */
};

/* A request's result by one model. */
struct request_score {
    double logp; /* of the continuation, nats */
    int greedy;  /* all its tokens are the most probable */
    size_t tokens;
};

struct task {
    struct form form;
    char *name, *path;
    struct task_item *item;
    size_t n;
    struct strings group; /* by the field `by`, in the order they come */
    size_t nrequest;
    size_t skipped;              /* bad items, left out */
    size_t *at;                  /* [n] first request of an item */
    struct request_score *score; /* [nj][nrequest] */
};
/* spec: FORM=FILE.  Dies on damage; skip_bad: but items that are bad are left
 * out with a warning each. */
void task_open(struct task *t, const char *spec, int skip_bad);
void task_close(struct task *t);

#endif
