/* What a program does before it computes: choose kernels, start threads, open
 * models.  An error ends the program. */
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

/* Choose the kernels, and the number type of matrix products: an index of
 * compute_names. */
void setup_kernels(int compute);
/* Start threads, 0: all processors; the caller frees the pool. */
struct pool *setup_pool(size_t threads);
/* Open a model as model_open_checked does. */
void setup_model(struct model *m, const char *path, const char *adapter);

#endif
