/* The walk of `prune sparsify` from block to block.  obs.h has the methods that
 * make one layer sparse. */
#ifndef PRUNE_SPARSIFY_WALK_H
#define PRUNE_SPARSIFY_WALK_H

#include "hess_walk.h"
#include "sparsify_list.h"

struct profile;
struct kl; /* sparsify_walk.c */

enum { SPENT_PASSES, SPENT_LAYERS, SPENT };
struct sparsify {
    struct model *m; /* its matrices are replaced one by one */
    const struct calib *c;
    const struct profile *profile; /* instead of c, or NULL */
    struct pool *pool;
    enum method method;
    struct pattern pattern;
    double damp;
    struct layers list;
    struct hess_walk on;             /* on.H: of the block under way */
    struct kl *kl;                   /* of sparsify_measure, or NULL */
    double spent[SPENT], cpu[SPENT]; /* seconds, and those of processors */
};

/* Bytes of memory beside the model and the forward pass. */
size_t sparsify_bytes(const struct sparsify *s);
/* Allocate the walk; the fields up to `list` are set. */
void sparsify_begin(struct sparsify *s);
/* Make the layers sparse that are taken.  Dies. */
void sparsify_run(struct sparsify *s);
/* Measure the sensitivity of each layer, the others dense: the relative error
 * of its output, or with kl the KL(dense model || model with this layer
 * sparse), nats a prediction.  Dies. */
void sparsify_measure(struct sparsify *s, int kl);
void sparsify_end(struct sparsify *s);

#endif
