/* Memory of the fullest rank, and the part of the model that a rank has. */
#ifndef PLAN_MEMORY_H
#define PLAN_MEMORY_H

#include "figures.h"
#include "job.h"

#include <stddef.h>

/* Add these figures, in bytes, of the rank that needs the most memory:
 *   allocated  memory that the framework allocates for tensors
 *   memory     memory that the device needs, with context, libraries and
 *              fragments
 *   memory.*   the parts of memory */
void predict_memory(struct figures *f, const struct job *j);

/* The part of the model that a rank has.  Pipeline ranks divide the blocks by
 * stages, as model/pass/stages.h does; tensor ranks divide parameters, and
 * expert ranks divide experts. */
struct slice {
    double blocks;  /* number of blocks that a pass goes through */
    double dense;   /* parameters of the rank's blocks besides experts */
    double experts; /* parameters of the blocks' experts on the rank */
    double table;   /* parameters of embedding and head */
};
struct slice slice_of(const struct job *j, size_t rank);
/* Bytes that a rank holds if each parameter of *p takes `each` bytes.  From its
 * stage `from` on, ZeRO divides these bytes among ranks. */
double rank_bytes(const struct job *j, const struct slice *p, double each,
    int from);
/* Tokens of a pass on one rank. */
double pass_tokens(const struct job *j);
/* Number of attention scores that a block on one rank stores for a token, times
 * `tensors` (copies, or bytes of a score).  0 with flash attention, which
 * stores none. */
double score_numbers(const struct job *j, double tensors);

#endif
