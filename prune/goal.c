/* Goals of a search: see goal.h. */
#include "goal.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/opt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Default of --multiple: 64, or for MLPs narrower than 2048 the largest power
 * of two up to 1/32 of the width. */
static size_t
auto_multiple(const struct model *m)
{
    size_t n = 64;

    while (n > 1 && n * 32 > m->c.mlp)
        n /= 2;
    return n;
}

int
goal_given(const struct goal_options *o)
{
    return !isnan(o->params) || !isnan(o->ratio) || o->blocks > 0 ||
        o->width > 0 || !isnan(o->flops) || !isnan(o->latency) ||
        o->memory != OPT_NONE;
}

static void
set_limits(struct cost *most, const struct goal_options *o,
    const struct model *m)
{
    const double whole = (double)model_params(m);

    *most = (struct cost){ INFINITY, INFINITY, INFINITY, INFINITY };
    if (!isnan(o->params))
        most->params = o->params;
    if (!isnan(o->ratio))
        most->params = fmin(most->params, floor(whole * (1.0 - o->ratio)));
    if (!isnan(o->flops))
        most->flops = o->flops;
    if (o->memory != OPT_NONE)
        most->bytes = (double)o->memory;
    if (!isnan(o->latency))
        most->latency = o->latency * 1e-3;
}

void
goal_set(struct goal *g, const struct goal_options *o, const struct model *m,
    unsigned units, int ranked)
{
    set_limits(&g->most, o, m);
    g->units = units;
    g->ranked = ranked;
    g->blocks = o->blocks;
    g->width = o->width;
    g->multiple = o->multiple > 0 ? o->multiple : auto_multiple(m);
    if (g->blocks > m->c.L)
        die(EX_USAGE, "--blocks %zu: %s has %zu", g->blocks, m->path, m->c.L);
    if (g->width > m->c.mlp)
        die(EX_USAGE, "--width %zu: the MLPs of %s have %zu channels", g->width,
            m->path, m->c.mlp);
    if (isinf(g->most.params) && isinf(g->most.bytes) && isinf(g->most.flops) &&
        isinf(g->most.latency) && g->blocks == 0)
        g->blocks = m->c.L;
    if (g->multiple > m->c.mlp)
        die(EX_USAGE, "--multiple %zu: the MLPs of %s have %zu channels",
            g->multiple, m->path, m->c.mlp);
}
