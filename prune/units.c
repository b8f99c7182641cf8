/* Units that may be dropped: see units.h. */
#include "units.h"
#include "candidates.h"

#include <math.h>

const char *const unit_names[] = { "blocks", "attention", "mlp", "channels",
    "groups", NULL };

size_t
unit_index(enum unit unit)
{
    size_t bit = 0;

    while (unit >> (bit + 1) != 0)
        bit++;
    return bit;
}

const char *
unit_text(enum unit unit)
{
    static const char *const text[UNITS] = { "block", "attention of block",
        "MLP of block", "channels of block", "a group of block" };

    return text[unit_index(unit)];
}

int
piece_there(const struct search *s, const struct conf *c, struct piece p)
{
    const struct block_shape *b = &c->b[p.block];
    /* if blocks may be dropped, a block's last part goes only with the block */
    const int blocks = (s->g.units & UNIT_BLOCKS) != 0;

    if (!(s->g.units & p.unit))
        return 0;
    switch (p.unit) {
    case UNIT_BLOCKS: return b->groups + b->mlp > 0;
    case UNIT_ATTN: return b->groups > 0 && (b->mlp > 0 || !blocks);
    case UNIT_MLP:
        /* beside a short convolution the MLP is removed only with the block */
        return b->mlp > 0 && !b->linear && (b->groups > 0 || !blocks);
    case UNIT_GROUPS: return b->groups > 1;
    case UNIT_CHANNELS: return b->mlp > s->g.multiple;
    }
    return 0;
}

void
piece_drop(const struct search *s, struct conf *c, struct piece p)
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

int
piece_gone(const struct search *s, const struct conf *c, struct piece p)
{
    const struct block *of = &s->j->m->block[p.block];
    const struct block_shape *b = &c->b[p.block];
    const int blocks = (s->g.units & UNIT_BLOCKS) != 0;

    if (!(s->g.units & p.unit))
        return 0;
    switch (p.unit) {
    case UNIT_BLOCKS: return !conf_has(c, p.block);
    case UNIT_ATTN:
        return b->groups == 0 && of->groups > 0 && (b->mlp > 0 || !blocks);
    case UNIT_MLP:
        return b->mlp == 0 && of->mlp > 0 && (b->groups > 0 || !blocks);
    case UNIT_GROUPS: return b->groups > 0 && b->groups < of->groups;
    case UNIT_CHANNELS: return b->mlp > 0 && b->mlp < of->mlp;
    }
    return 0;
}

void
piece_restore(const struct search *s, struct conf *c, struct piece p)
{
    const struct block *of = &s->j->m->block[p.block];
    struct block_shape *b = &c->b[p.block];

    if (p.unit == UNIT_BLOCKS || p.unit == UNIT_ATTN)
        b->groups = of->groups;
    if (p.unit == UNIT_BLOCKS || p.unit == UNIT_MLP)
        b->mlp = of->mlp;
    if (p.unit == UNIT_GROUPS)
        b->groups++;
    if (p.unit == UNIT_CHANNELS)
        b->mlp +=
            of->mlp - b->mlp < s->g.multiple ? of->mlp - b->mlp : s->g.multiple;
}

/* How far a unit turns the residual stream x: 1 - cos(x, x + u) for its output
 * u, taken to be orthogonal to x, with |u|^2 = e |x|^2. */
static double
turn_of(double e)
{
    return 1.0 - 1.0 / sqrt(1.0 + e);
}

double
piece_influence(const struct search *s, const struct conf *c, struct piece p)
{
    const struct measured *m = &s->j->at[p.block];
    const struct order *r = &s->order[p.block];
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
