/*
 * What programs do first that compute with models: choose processors, kernels
 * and threads, and open the models.  Every function dies on errors.  setup.c
 * has them; place.c has those that need ranks (dist/dist.h).
 */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "base/pool.h"
#include "model/model.h"

#include <stddef.h>

/* Options of where and how a program computes; cli/shared.h has their rows. */
struct setup {
    size_t threads; /* 0: all processors */
    const char *cpus, *numa;
    int compute; /* index of compute_names */
    int exact;   /* 1: no products in 8-bit integers */
};

/* dist_place: bind the process, before it has threads and buffers. */
void setup_place(const struct setup *s);
/* Bind the process, choose the kernels, and call mem_settle. */
void setup_begin(const struct setup *s);
/* Start the threads of a rank (dist_threads); the caller frees the pool. */
struct pool *setup_rank_pool(size_t threads);

/* compute_init: choose the kernels, and the type of products by --compute. */
void setup_kernels(int compute);
/* Start threads, 0: all processors; the caller frees the pool. */
struct pool *setup_pool(size_t threads);
/* model_open_checked. */
void setup_model(struct model *m, const char *path, const char *adapter);

#endif
