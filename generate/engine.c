/* Engines and their memory; see engine.h. */
#include "engine.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "train/plan.h"

/* Errors advise this when memory is too small. */
static const char less[] = "fewer texts (--at-once) or tokens (-n, --cache)";

size_t
engine_memory(const struct gen_engine *g, const struct model *m,
    const struct pool *pool, const struct gen_limits *l)
{
    const size_t all = gen_bytes(g) + plan_window(m, 1, 1) +
        plan_program(prog_resident(), pool_size(pool));
    struct err e;

    note("%zu text%s at a time, of %zu tokens at most: %.1f MB of keys and "
         "values, %.1f MB in all",
        l->texts, l->texts == 1 ? "" : "s", l->longest,
        (double)gen_cache_bytes(g) * 1e-6, (double)all * 1e-6);
    if (plan_fits(all, less, &e) < 0)
        die_err(&e);
    return all;
}

struct gen_engine *
engine_new(const struct model *m, struct pool *pool,
    const struct tokenizer *tok, const struct gen_limits *l)
{
    struct gen_engine *g;
    struct err e;

    /* Check most of the memory before it is allocated. */
    if (plan_fits(l->pages * gen_page_bytes(m), less, &e) < 0)
        die_err(&e);
    g = gen_new(m, pool, tok, l);
    engine_memory(g, m, pool, l);
    return g;
}

void
engine_check(const struct gen_event *ev)
{
    if (ev->reason == GEN_NAN)
        die(EX_NUM, "a logit is not finite");
}
