/* Memory of the fullest rank, and the part of the model that a rank has. */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include "figures.h"
#include "job.h"

#include <stddef.h>

/* Add "memory" and "memory.*", bytes. */
void predict_memory(struct figures *f, const struct job *j);

/* Parameters on a rank of the pipeline, after tensor ranks have divided them:
 * of its blocks without experts, of its experts, of embedding and head.  Stages
 * are those of model/stages.h, by which the last rank has the most blocks. */
struct slice {
    double blocks;
    double dense, experts, table;
};
struct slice slice_of(const struct job *j, size_t rank);
/* Bytes on the rank of numbers that take `each` bytes a parameter, where ZeRO
 * divides them from stage `from` on. */
double rank_bytes(const struct job *j, const struct slice *p, double each,
    int from);
/* Tokens of a pass on one rank. */
double pass_tokens(const struct job *j);
/* Attention scores of a token and block on one rank, in `tensors` copies; 0
 * with flash attention, which stores none. */
double score_numbers(const struct job *j, double tensors);

#endif
