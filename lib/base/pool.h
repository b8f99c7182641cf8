/*
 * A pool of threads that runs numbered tasks.  Results must not depend on
 * which thread runs a task or in what order: every task writes its own memory.
 */
#ifndef BASE_POOL_H
#define BASE_POOL_H

#include <stddef.h>

struct err;
struct pool;

/* Make a pool of n threads, the caller included; n = 0: one for each usable
 * processor.  NULL and *e: threads cannot be made. */
struct pool *pool_new(size_t n, struct err *e);
void pool_free(struct pool *p);
size_t pool_size(const struct pool *p);

/* Run fn(ctx, task, worker) for task = 0..ntasks-1, worker < pool_size; return
 * when all are done.  Tasks see what the caller wrote before, and the caller
 * sees what they wrote.  Not reentrant; call from one thread only. */
void pool_run(struct pool *p, size_t ntasks,
    void (*fn)(void *ctx, size_t task, size_t worker), void *ctx);

/* Number of processors that this process may use: those it is bound to, but at
 * most the CPU quota of its control group. */
size_t pool_cpus(void);

#endif
