/* Costs of configurations: see cost.h. */
#include "cost.h"
#include "latency.h"
#include "base/mem.h"

#include <stdlib.h>

/* Shapes of the blocks that c keeps; sets of->L to their number.  The caller
 * frees the shapes. */
static struct block_shape *
kept_shapes(const struct conf *c, struct config *of)
{
    struct block_shape *b = xcalloc(c->L, sizeof(*b));

    of->L = 0;
    for (size_t i = 0; i < c->L; i++)
        if (conf_has(c, i))
            b[of->L++] = c->b[i];
    return b;
}

/* Operations per token: two for each weight of a product, and attention over
 * half a row. */
static double
flops_of(const struct costs *k, const struct conf *c)
{
    const struct config *g = &k->m->c;
    const double head = (double)(g->H / g->KV * g->D), d = (double)g->d;
    double n = 2.0 * (double)g->V * d;

    for (size_t i = 0; i < c->L; i++) {
        const double groups = (double)c->b[i].groups;

        n += groups *
            (4.0 * d * (head + (double)g->D) + 4.0 * head * (double)k->T / 2.0);
        n += 6.0 * d * (double)c->b[i].mlp;
        if (c->b[i].linear && conf_has(c, i))
            n += 8.0 * d * d; /* W_SHORT_IN [3*d,d] and W_SHORT_OUT [d,d] */
    }
    return n;
}

static double
latency_of(const struct costs *k, const struct conf *c)
{
    double n = shapes_seconds(k->shapes, SHAPE_HEAD, 1);

    for (size_t i = 0; i < c->L; i++) {
        if (c->b[i].groups > 0)
            n += shapes_seconds(k->shapes, SHAPE_ATTN, c->b[i].groups);
        if (c->b[i].mlp > 0)
            n += shapes_seconds(k->shapes, SHAPE_MLP, c->b[i].mlp);
    }
    return n;
}

void
cost_of(const struct costs *k, const struct conf *c, struct cost *out)
{
    struct config less = k->m->c;
    struct block_shape *b = kept_shapes(c, &less);

    out->params = (double)config_params(&less, b);
    out->bytes = out->params * (double)k->width;
    out->flops = flops_of(k, c);
    out->latency = k->shapes != NULL ? latency_of(k, c) : 0.0;
    free(b);
}

int
cost_fits(const struct cost *c, const struct cost *most)
{
    return c->params <= most->params && c->bytes <= most->bytes &&
        c->flops <= most->flops && c->latency <= most->latency;
}
