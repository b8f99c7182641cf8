/* The walk of `prune sparsify` from block to block.  The methods that make a
 * layer sparse are in obs.h. */
#ifndef PRUNE_SPARSIFY_WALK_H
#define PRUNE_SPARSIFY_WALK_H

#include "hess_walk.h"
#include "sparsify_list.h"

struct profile;
struct kl; /* sparsify_walk.c */

enum { SPENT_PASSES, SPENT_LAYERS, SPENT }; /* forward passes; layers */
struct sparsify {
    struct model *m; /* its matrices are replaced one by one */
    const struct calib *c;
    const struct profile *profile; /* used instead of c, or NULL */
    struct pool *pool;
    enum method method;
    struct pattern pattern;
    double damp;
    struct layers list;
    struct hess_walk on;             /* its H are the present block's
                                      * Hessians */
    struct kl *kl;                   /* set by sparsify_measure, or NULL */
    double spent[SPENT], cpu[SPENT]; /* wall and CPU seconds */
};

/* Bytes of memory beside the model and the forward pass. */
size_t sparsify_bytes(const struct sparsify *s);
/* Allocate the walk.  The caller has set the fields before `list`. */
void sparsify_begin(struct sparsify *s);
/* Make the layers that are taken sparse.  Dies. */
void sparsify_run(struct sparsify *s);
/* Measure the sensitivity of each layer while all other layers are dense: the
 * relative error of the layer's output; if `kl` is 1, KL(dense model || model
 * with this layer sparse), nats per prediction.  Dies. */
void sparsify_measure(struct sparsify *s, int kl);
void sparsify_end(struct sparsify *s);

#endif
