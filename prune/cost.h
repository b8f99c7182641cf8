/* Costs of a configuration, to compare with a goal. */
#ifndef PRUNE_COST_H
#define PRUNE_COST_H

#include "conf.h"

struct shapes; /* latency.h */

struct cost {
    double params, bytes; /* bytes: of the weights as they are written */
    double flops;         /* operations a token in the middle of a row */
    double latency;       /* seconds from a row of T tokens to the next token;
                           * 0: not measured */
};
/* The model whose configurations are priced, and how. */
struct costs {
    const struct model *m;
    size_t T, width;       /* tokens a row; bytes a weight */
    struct shapes *shapes; /* NULL: latency is not measured */
};
void cost_of(const struct costs *k, const struct conf *c, struct cost *out);
/* Is no cost above its limit in `most`? */
int cost_fits(const struct cost *c, const struct cost *most);

#endif
