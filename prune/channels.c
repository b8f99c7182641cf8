/* Reduces channels until the limits are met: see channels.h. */
#include "channels.h"
#include "candidates.h"
#include "units.h"

#include <math.h>

int
meets_limits(const struct search *s, const struct conf *c)
{
    struct cost cost;

    cost_of(&s->k, c, &cost);
    return cost_fits(&cost, &s->g.most);
}

double
conf_params(const struct search *s, const struct conf *c)
{
    struct cost cost;

    cost_of(&s->k, c, &cost);
    return cost.params;
}

/* ---- one width ---- */

static void
set_widths(const struct search *s, struct conf *c, size_t w)
{
    for (size_t i = 0; i < c->L; i++) {
        const size_t own = s->j->m->block[i].mlp;

        if (c->b[i].mlp > 0)
            c->b[i].mlp = own < w ? own : w;
    }
}

/* Give all MLPs one width: --width, or the largest that meets the limits.  An
 * MLP keeps its own width if that is less.  -1: the limits are not met. */
static int
fit_width(const struct search *s, struct conf *c)
{
    const size_t by = s->g.multiple;

    set_widths(s, c, s->g.width > 0 ? s->g.width : SIZE_MAX);
    if (meets_limits(s, c))
        return 0;
    if (s->g.width > 0 || !(s->g.units & UNIT_CHANNELS))
        return -1;
    for (size_t w = conf_width(c) / by * by; w > 0; w -= by) {
        set_widths(s, c, w);
        if (meets_limits(s, c))
            return 0;
    }
    return -1;
}

/* ---- channels ranked across all blocks ---- */

/* Mean energy of channels from..to-1 of block i, counted in order of falling
 * energy. */
static double
mean_energy(const struct search *s, size_t i, size_t from, size_t to)
{
    const double *e = s->order[i].chan_energy;

    return (e[to] - e[from]) / (double)(to - from);
}

/* Remove the last g.multiple channels from the MLP in which they have the least
 * mean energy; -1: no MLP has more than g.multiple. */
static int
shrink_least(const struct search *s, struct conf *c)
{
    const size_t by = s->g.multiple;
    size_t best = c->L;
    double least = INFINITY;

    for (size_t i = 0; i < c->L; i++) {
        const size_t n = c->b[i].mlp;

        if (n > by && mean_energy(s, i, n - by, n) < least) {
            least = mean_energy(s, i, n - by, n);
            best = i;
        }
    }
    if (best == c->L)
        return -1;
    c->b[best].mlp -= by;
    return 0;
}

/* Give g.multiple channels (or all that are missing, if fewer) back to the MLP
 * in which they have the highest mean energy; -1: no MLP that is kept misses
 * any, or the limits would be exceeded. */
static int
widen_most(const struct search *s, struct conf *c)
{
    const size_t by = s->g.multiple;
    size_t best = c->L, to = 0, was;
    double most = -1.0;

    for (size_t i = 0; i < c->L; i++) {
        const size_t n = c->b[i].mlp, own = s->j->m->block[i].mlp;
        const size_t more = own - n < by ? own : n + by;

        if (n > 0 && n < own && mean_energy(s, i, n, more) > most) {
            most = mean_energy(s, i, n, more);
            best = i;
            to = more;
        }
    }
    if (best == c->L)
        return -1;
    was = c->b[best].mlp;
    c->b[best].mlp = to;
    if (meets_limits(s, c))
        return 0;
    c->b[best].mlp = was;
    return -1;
}

int
channels_fit(const struct search *s, struct conf *c, int grow)
{
    if (!s->g.ranked)
        return fit_width(s, c);
    while (!meets_limits(s, c))
        if (!(s->g.units & UNIT_CHANNELS) || shrink_least(s, c) < 0)
            return -1;
    while (grow && (s->g.units & UNIT_CHANNELS) && widen_most(s, c) == 0)
        ;
    return 0;
}
