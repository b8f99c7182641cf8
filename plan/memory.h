/* Memory of the fullest rank, and the part of the model that a rank has. */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include "figures.h"
#include "job.h"

#include <stddef.h>

/* Add the figures "memory" and "memory.*", bytes. */
void predict_memory(struct figures *f, const struct job *j);

/* The part of the model on a rank of the pipeline, divided by tensor ranks.
 * Stages are those of model/stages.h, which gives the last rank most blocks. */
struct slice {
    double blocks;  /* number of blocks */
    double dense;   /* parameters of the blocks without experts */
    double experts; /* parameters of the experts */
    double table;   /* parameters of embedding and head */
};
struct slice slice_of(const struct job *j, size_t rank);
/* Bytes on the rank of numbers of `each` bytes, one for each parameter of *p;
 * ZeRO divides them from stage `from` on. */
double rank_bytes(const struct job *j, const struct slice *p, double each,
    int from);
/* Tokens of a pass on one rank. */
double pass_tokens(const struct job *j);
/* Number of attention scores of a token in a block on one rank, in `tensors`
 * copies; 0 with flash attention, which stores none. */
double score_numbers(const struct job *j, double tensors);

#endif
