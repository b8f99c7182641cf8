/* Processors and threads; see place.h. */
#include "cli/place.h"
#include "base/mem.h"
#include "cli/die.h"
#include "dist/dist.h"

void
setup_place(const struct setup *s)
{
    struct err e;

    if (dist_place(s->cpus, s->numa, &e) < 0)
        die_err(&e);
}

void
setup_begin(const struct setup *s)
{
    setup_place(s);
    setup_kernels(s->compute);
    mem_settle();
}

struct pool *
setup_rank_pool(size_t threads)
{
    return setup_pool(dist_threads(threads));
}
