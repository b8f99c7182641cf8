/* Scoring the requests of all tasks by a model. */
#ifndef TASK_SCORE_H
#define TASK_SCORE_H

#include "task_read.h"
#include "base/pool.h"
#include "eval/models.h"
#include "eval/resume.h"

#include <stddef.h>
#include <stdint.h>

#define NONE SIZE_MAX

/* The models, and how they are run. */
struct eval {
    struct eval_model *j; /* [nj], the base first if there is one */
    size_t nj;
    size_t base; /* index in j, or NONE */
    struct pool *pool;
    size_t rows;           /* rows of a forward pass, 0: about 4096 tokens */
    struct resume *resume; /* or NULL */
    size_t ntokens;        /* tokens of all requests, summed over models */
    size_t nfed; /* tokens computed; tokens that requests share count once */
};

/* Set the scores of model j in all nt tasks. */
void tasks_score(struct eval *e, struct task *t, size_t nt, size_t j);

#endif
