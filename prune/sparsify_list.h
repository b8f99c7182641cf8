/* The layers that `prune sparsify` makes sparse, and their report. */
#ifndef PRUNE_SPARSIFY_LIST_H
#define PRUNE_SPARSIFY_LIST_H

#include "obs.h"
#include "base/mem.h"
#include "model/files/model.h"

/* A matrix of a block, and how it was made sparse. */
struct layer {
    size_t block;
    int t;     /* W_... */
    int taken; /* this layer is to be sparse */
    size_t rows, cols;
    size_t zeros;
    size_t dead;    /* channels of the input that are always 0 */
    double damp;    /* damping used by obs */
    double alone;   /* sensitivity: relative error of the output, or KL, if only
                     * this layer is sparse; NAN: not measured */
    double error;   /* relative error of the output; NAN: not sparse */
    float *data;    /* [rows,cols] once the layer is sparse; owned */
    double seconds; /* spent on the layer; of the layers that read one input
                     * the first also has the time to factor its Hessian */
};
struct layers {
    struct layer *l; /* [n] owned; ordered by block, then by input */
    size_t n;
};
/* List the layers of m in `names`: "all", or some of q, k, v, o, gate, up and
 * down, separated by commas.  Dies (EX_USAGE) on another word, and if the
 * pattern's m does not divide the length of a layer's rows. */
void layers_list(struct layers *s, const struct model *m,
    const struct pattern *p, const char *names);
void layers_release(struct layers *s);
/* Mark the least sensitive layers as taken, until these have at least this
 * share of the parameters of all listed layers. */
void layers_take(struct layers *s, double share);
/* Name of a layer, such as "gate" for W_GATE. */
const char *layer_name(int t);
/* Append the report that prune-sparsify(1) describes. */
void layers_tsv(const struct layers *s, struct buf *b);

#endif
