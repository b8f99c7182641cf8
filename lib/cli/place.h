/* Processors and threads of a program that may be a rank.  Every function dies
 * on errors. */
#ifndef CLI_PLACE_H
#define CLI_PLACE_H

#include "cli/setup.h"

/* dist_place: bind the process to its processors.  Call it before threads and
 * buffers are made. */
void setup_place(const struct setup *s);
/* Bind the process, choose the kernels, and call mem_settle. */
void setup_begin(const struct setup *s);
/* Start as many threads as dist_threads says; the caller frees the pool. */
struct pool *setup_rank_pool(size_t threads);

#endif
