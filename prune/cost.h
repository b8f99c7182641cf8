/* Costs of a configuration, to compare with a goal. */
#ifndef PRUNE_COST_H
#define PRUNE_COST_H

#include "conf.h"

struct shapes; /* latency.h */

struct cost {
    double params, bytes; /* number of weights, and their bytes in the type that
                           * is written */
    double flops;         /* operations for a token in the middle of a row */
    double latency;       /* seconds of a forward pass over a row of T tokens,
                           * and of the head for the last token; 0: not
                           * measured */
};
/* How configurations are priced. */
struct costs {
    const struct model *m; /* the whole model */
    size_t T, width;       /* tokens of a row; bytes of a weight */
    struct shapes *shapes; /* NULL: latency is not measured */
};
void cost_of(const struct costs *k, const struct conf *c, struct cost *out);
/* Are all costs at most their limits in `most`? */
int cost_fits(const struct cost *c, const struct cost *most);

#endif
