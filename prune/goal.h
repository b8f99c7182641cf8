/* Goals of a search, and the options that set them. */
#ifndef PRUNE_GOAL_H
#define PRUNE_GOAL_H

#include "cost.h"

struct goal {
    struct cost most; /* limits of the costs; INFINITY: none */
    size_t blocks;    /* number of blocks to keep; 0: any */
    size_t width;     /* width of all MLPs; 0: any */
    size_t multiple;  /* widths are multiples of this */
    unsigned units;   /* units that may be dropped: bits of enum unit */
    int ranked;       /* 1: channels are ranked across blocks; 0: all MLPs have
                       * one width */
};

struct goal_options {
    double params, flops, ratio, latency; /* NAN: not given; latency in ms */
    size_t memory;                        /* OPT_NONE: not given */
    size_t blocks, width, multiple;
};
#define GOAL_NONE                                                  \
    {                                                              \
        .params = NAN, .flops = NAN, .ratio = NAN, .latency = NAN, \
        .memory = OPT_NONE                                         \
    }

/* Options of `prune search` and `prune`; g: struct goal_options. */
#define GOAL_OPTIONS(g)                                                     \
    OPT_COUNT(0, "params", &(g).params, 1, 1e15, "count",                   \
        "keep at most this many parameters, such as 84M (84 million)"),     \
        OPT_REAL(0, "ratio", &(g).ratio, 0, 1, "share",                     \
            "remove at least this share of the parameters, such as 0.375"), \
        OPT_SIZE(0, "blocks", &(g).blocks, 0, 1e6, "n",                     \
            "blocks to keep (0: the number that scores best)"),             \
        OPT_SIZE(0, "width", &(g).width, 0, 1e9, "n",                       \
            "channels to keep in each MLP (0: as many as the goal allows)")
#define GOAL_MULTIPLE(g)                                  \
    OPT_SIZE(0, "multiple", &(g).multiple, 0, 65536, "n", \
        "make MLP widths multiples of this (0: 64, or less for narrow MLPs)")

/* Was any goal given? */
int goal_given(const struct goal_options *o);
/* Set g.  Dies (EX_USAGE) if m has fewer blocks or channels than the goal. */
void goal_set(struct goal *g, const struct goal_options *o,
    const struct model *m, unsigned units, int ranked);

#endif
