/* Configurations are changed by a part, and made to meet the goal by channels;
 * see search.h. */
#include "search.h"

#include <math.h>

int
fits(const struct search *s, const struct conf *c)
{
    struct cost cost;

    cost_of(&s->k, c, &cost);
    return cost_fits(&cost, &s->g.most);
}

double
fit_params(const struct search *s, const struct conf *c)
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

/* The widest MLPs with which these blocks meet the goal. */
static int
fit_width(const struct search *s, struct conf *c)
{
    const size_t by = s->g.multiple;

    set_widths(s, c, s->g.width > 0 ? s->g.width : SIZE_MAX);
    if (fits(s, c))
        return 0;
    if (s->g.width > 0 || !(s->g.units & UNIT_CHANNELS))
        return -1;
    for (size_t w = conf_width(c) / by * by; w > 0; w -= by) {
        set_widths(s, c, w);
        if (fits(s, c))
            return 0;
    }
    return -1;
}

/* ---- channels ranked over all blocks ---- */

/* What each channel adds between `from` and `to` of block i's order. */
static double
worth(const struct search *s, size_t i, size_t from, size_t to)
{
    const double *e = s->rank[i].chan_energy;

    return (e[to] - e[from]) / (double)(to - from);
}

/* Take the step of channels that adds least. */
static int
shrink(const struct search *s, struct conf *c)
{
    const size_t by = s->g.multiple;
    size_t best = c->L;
    double least = INFINITY;

    for (size_t i = 0; i < c->L; i++) {
        const size_t n = c->b[i].mlp;

        if (n > by && worth(s, i, n - by, n) < least) {
            least = worth(s, i, n - by, n);
            best = i;
        }
    }
    if (best == c->L)
        return -1;
    c->b[best].mlp -= by;
    return 0;
}

/* Give back the step that adds most, if it meets the goal then. */
static int
widen(const struct search *s, struct conf *c)
{
    const size_t by = s->g.multiple;
    size_t best = c->L, to = 0, was;
    double most = -1.0;

    for (size_t i = 0; i < c->L; i++) {
        const size_t n = c->b[i].mlp, own = s->j->m->block[i].mlp;
        const size_t more = own - n < by ? own : n + by;

        if (n > 0 && n < own && worth(s, i, n, more) > most) {
            most = worth(s, i, n, more);
            best = i;
            to = more;
        }
    }
    if (best == c->L)
        return -1;
    was = c->b[best].mlp;
    c->b[best].mlp = to;
    if (fits(s, c))
        return 0;
    c->b[best].mlp = was;
    return -1;
}

int
fit(const struct search *s, struct conf *c, int grow)
{
    if (!s->g.ranked)
        return fit_width(s, c);
    while (!fits(s, c))
        if (!(s->g.units & UNIT_CHANNELS) || shrink(s, c) < 0)
            return -1;
    while (grow && (s->g.units & UNIT_CHANNELS) && widen(s, c) == 0)
        ;
    return 0;
}

/* ---- parts ---- */

const char *const part_names[] = { "blocks", "attention", "mlp", "channels",
    "groups", NULL };

const char *
part_name(enum unit unit)
{
    static const char *const one[] = { "block", "attention of block",
        "MLP of block", "channels of block", "a group of block" };
    size_t i = 0;

    while (unit >> (i + 1) != 0)
        i++;
    return one[i];
}

int
part_there(const struct search *s, const struct conf *c, struct piece p)
{
    const struct block_shape *b = &c->b[p.block];
    /* what is left of a block goes as a block */
    const int blocks = (s->g.units & UNIT_BLOCKS) != 0;

    if (!(s->g.units & p.unit))
        return 0;
    switch (p.unit) {
    case UNIT_BLOCKS: return b->groups + b->mlp > 0;
    case UNIT_ATTN: return b->groups > 0 && (b->mlp > 0 || !blocks);
    case UNIT_MLP: return b->mlp > 0 && (b->groups > 0 || !blocks);
    case UNIT_GROUPS: return b->groups > 1;
    case UNIT_CHANNELS: return b->mlp > s->g.multiple;
    }
    return 0;
}

void
part_drop(const struct search *s, struct conf *c, struct piece p)
{
    struct block_shape *b = &c->b[p.block];

    switch (p.unit) {
    case UNIT_BLOCKS: b->groups = b->mlp = 0; break;
    case UNIT_ATTN: b->groups = 0; break;
    case UNIT_MLP: b->mlp = 0; break;
    case UNIT_GROUPS: b->groups--; break;
    case UNIT_CHANNELS: b->mlp -= s->g.multiple; break;
    }
}

/* 1 - cos of a stream and it with a share e of energy added at a right angle */
static double
turn_of(double e)
{
    return 1.0 - 1.0 / sqrt(1.0 + e);
}

double
part_influence(const struct search *s, const struct conf *c, struct piece p)
{
    const struct measured *m = &s->j->at[p.block];
    const struct rank *r = &s->rank[p.block];
    const struct block_shape *b = &c->b[p.block];

    switch (p.unit) {
    case UNIT_BLOCKS: return m->influence;
    case UNIT_ATTN: return m->attn;
    case UNIT_MLP: return m->mlp;
    case UNIT_GROUPS:
        return turn_of(
            r->group_energy[b->groups] - r->group_energy[b->groups - 1]);
    case UNIT_CHANNELS:
        return turn_of(
            r->chan_energy[b->mlp] - r->chan_energy[b->mlp - s->g.multiple]);
    }
    return INFINITY;
}
