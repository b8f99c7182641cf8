/* Options that the commands share; see common.h. */
#include "common.h"
#include "base/mem.h"
#include "cli/die.h"
#include "dist/dist.h"

void
common_begin(const struct common *c)
{
    struct err e;

    if (c->tau > 0.0 && c->tau < 0.01)
        die(EX_USAGE,
            "--temperature: %g is too low: give 0.01 or more, or 0 for the "
            "most probable token",
            c->tau);
    if (dist_place(c->cpus, c->numa, &e) < 0 ||
        compute_init(c->compute, &e) < 0)
        die_err(&e);
    mem_settle();
}

void
common_open(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0 || model_check_finite(m, &e) < 0)
        die_err(&e);
}

struct pool *
common_pool(const struct common *c)
{
    struct pool *pool;
    struct err e;

    if ((pool = pool_new(dist_threads(c->threads), &e)) == NULL)
        die_err(&e);
    return pool;
}
