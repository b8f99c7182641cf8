/* Options that the commands of generate share, and opening models. */
#ifndef GENERATE_COMMON_H
#define GENERATE_COMMON_H

#include "base/pool.h"
#include "cli/opt.h"
#include "model/compute.h"
#include "model/model.h"

#include <stddef.h>

/* Values of the options that every command has. */
struct common {
    double tau;   /* temperature; 0: the most probable token */
    double top_p; /* in (0,1]; nucleus sampling: draw from the most probable
                   * tokens that together have this probability */
    size_t seed, threads;
    const char *cpus, *numa;
    int compute;
};
#define COMMON_DEFAULTS          \
    {                            \
        .tau = 0.0, .top_p = 1.0 \
    }
#define COMMON_OPTIONS(c)                                                    \
    OPT_REAL(0, "temperature", &(c)->tau, 0, 1000, "T",                      \
        "temperature of the softmax (0: take the most probable token)"),     \
        OPT_REAL(0, "top-p", &(c)->top_p, 1e-6, 1, "p",                      \
            "draw from the fewest most probable tokens whose probabilities " \
            "sum to p or more"),                                             \
        OPT_SIZE('s', "seed", &(c)->seed, 0, 1e18, "seed",                   \
            "seed of the random numbers"),                                   \
        OPT_SIZE('j', "threads", &(c)->threads, 0, 4096, "threads",          \
            "threads (0: all processors)"),                                  \
        OPT_STR(0, "cpus", &(c)->cpus, "list",                               \
            "run on these processors, such as 0-3,8"),                       \
        OPT_STR(0, "numa", &(c)->numa, "node", "run on this memory node"),   \
        OPT_ENUM(0, "compute", &(c)->compute, compute_names, "type",         \
            "type that the factors of matrix products have")

/* Apply the options.  Call it before models are opened.  Dies on errors. */
void common_begin(const struct common *c);
/* Open a model.  Dies on errors, also if a weight is not finite. */
void common_open(struct model *m, const char *path);
/* Start the threads.  Call it when models are open.  Dies on errors; the caller
 * frees the pool. */
struct pool *common_pool(const struct common *c);

#endif
