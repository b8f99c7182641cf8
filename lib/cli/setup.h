/* Kernels, threads and models of a program that computes with models.  Every
 * function dies on errors. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "base/pool.h"
#include "model/files/model.h"

#include <stddef.h>

/* Options of where and how a program computes; cli/shared.h has their rows. */
struct setup {
    size_t threads; /* 0: all processors */
    const char *cpus, *numa;
    int compute; /* index of compute_names */
    int exact;   /* 1: no products in 8-bit integers */
};

/* compute_init: choose the kernels, and the type of products by --compute. */
void setup_kernels(int compute);
/* Start threads, 0: all processors; the caller frees the pool. */
struct pool *setup_pool(size_t threads);
/* model_open_checked. */
void setup_model(struct model *m, const char *path, const char *adapter);

#endif
