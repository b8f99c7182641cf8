/* Kernels, threads and models; see setup.h. */
#include "cli/die.h"
#include "cli/setup.h"
#include "model/pass/compute.h"

void
setup_kernels(int compute)
{
    struct err e;

    if (compute_init(compute, &e) < 0)
        die_err(&e);
}

struct pool *
setup_pool(size_t threads)
{
    struct err e;
    struct pool *pool = pool_new(threads, &e);

    if (pool == NULL)
        die_err(&e);
    return pool;
}

void
setup_model(struct model *m, const char *path, const char *adapter)
{
    struct err e;

    if (model_open_checked(m, path, adapter, &e) < 0)
        die_err(&e);
}
