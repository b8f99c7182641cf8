/*
 * Parts of `prune sparsify`: the walk from block to block (sparsify_walk.c)
 * and which layers it makes sparse (sparsify_list.c).  What is done to a layer
 * is in obs.h.
 */
#ifndef PRUNE_SPARSIFY_H
#define PRUNE_SPARSIFY_H

#include "hessian.h"
#include "obs.h"
#include "base/mem.h"

/* A matrix of a block, and what became of it. */
struct layer {
    size_t block;
    int t;     /* W_... */
    int taken; /* it is to be sparse */
    size_t rows, cols;
    size_t zeros;
    size_t dead;    /* channels of its input that are always zero */
    double damp;    /* obs: taken */
    double alone;   /* sensitivity: relative error on dense inputs, or KL; NAN:
                     * not measured */
    double error;   /* of its output's sum of squares; NAN: not sparse */
    float *data;    /* [rows,cols] once it is sparse; owned */
    double seconds; /* of its Hessian's factor (the first one) and itself */
};

struct profile;
struct kl; /* sparsify_walk.c */

struct sparsify {
    struct model *m; /* its own: matrices are replaced one by one */
    const struct calib *c;
    const struct profile *profile; /* in its place, or NULL */
    struct pool *pool;
    enum method method;
    struct pattern pattern;
    double damp;
    struct layer *layer; /* [n] by block, then in order of input */
    size_t n;
    struct hess_walk on; /* its H are those of the block under way */
    struct kl *kl;       /* of sparsify_measure, or NULL */
    double spent[2];     /* seconds: passes, with Hessians; layers */
    double cpu[2];       /* and of processors */
};
enum { SPENT_PASSES, SPENT_LAYERS };

/* The layers of m that `names` lists: "all", or some of q, k, v, o, gate, up
 * and down with commas between.  Dies (EX_USAGE) at others, and when the
 * pattern does not fit. */
void sparsify_list(struct sparsify *s, const char *names);
/* Bytes beside the model and the forward pass. */
size_t sparsify_bytes(const struct sparsify *s);
/* Memory for the walk, after what is above is set. */
void sparsify_begin(struct sparsify *s);
/* Make the layers sparse that are taken; dies. */
void sparsify_run(struct sparsify *s);
/* Measure what each layer does alone, the others dense, into `alone`: the
 * relative error of its output, or with kl how far the whole model's
 * distributions are from the dense model's, nats a prediction. */
void sparsify_measure(struct sparsify *s, int kl);
/* Take the layers that do least, until they have this share of the
 * parameters of all. */
void sparsify_take(struct sparsify *s, double share);
void sparsify_end(struct sparsify *s);
const char *layer_name(int t); /* "gate" of W_GATE */
/* Append a line a layer, with a head. */
void sparsify_tsv(const struct sparsify *s, struct buf *b);

#endif
