/* How small a model is to be: options that prune and prune search share. */
#ifndef PRUNE_GOAL_H
#define PRUNE_GOAL_H

#include "search.h"

struct goal_options {
    const char *params, *flops;
    double ratio, latency; /* NAN: not given; milliseconds */
    size_t memory;         /* OPT_NONE: not given */
    size_t blocks, width, multiple;
};
#define GOAL_NONE                                        \
    {                                                    \
        .ratio = NAN, .latency = NAN, .memory = OPT_NONE \
    }

/* Options of both; g: struct goal_options. */
#define GOAL_OPTIONS(g)                                           \
    OPT_STR(0, "params", &(g).params, "count",                    \
        "at most so many parameters, such as 84M (84 million)"),  \
        OPT_REAL(0, "ratio", &(g).ratio, 0, 1, "share",           \
            "remove at least this share of them, such as 0.375"), \
        OPT_SIZE(0, "blocks", &(g).blocks, 0, 1e6, "n",           \
            "blocks kept (0: what scores best)"),                 \
        OPT_SIZE(0, "width", &(g).width, 0, 1e9, "n",             \
            "channels kept in each MLP (0: what meets the goal)")
#define GOAL_MULTIPLE(g)                                  \
    OPT_SIZE(0, "multiple", &(g).multiple, 0, 65536, "n", \
        "widths are multiples of this (0: 64, or less for narrow MLPs)")

int goal_given(const struct goal_options *o);
/* Dies (EX_USAGE) where m cannot meet it. */
void goal_set(struct goal *g, const struct goal_options *o,
    const struct model *m, unsigned units, int ranked);

#endif
