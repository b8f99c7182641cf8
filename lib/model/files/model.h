/*
 * A model: a list of blocks.  Weights keep the type they are stored in and are
 * mapped read-only from a Hugging Face directory or a .gguf file.
 *
 * open.c and open_gguf.c open models, export.c and export_gguf.c write them.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/err.h"
#include "model/config/config.h"
#include "model/config/family.h"
#include "model/config/tensors.h"
#include "model/files/weights.h"

#include <stddef.h>
#include <stdint.h>

struct block {
    struct weight w[W_N]; /* [d] [H*D,d] [KV*D,d] [KV*D,d] [d,H*D] [d]
                           * [mlp,d] [mlp,d] [d,mlp] [H*D] [KV*D] [KV*D]
                           * [D] [D] [d] [d] [E,d] [E*I,d] [E*I,d]
                           * [E*d,I] [1,d] [d] [H] [E] [E,I] [E,I] [E,d],
                           * without those that have a shape above;
                           * H, KV, mlp, E: of this block; I: expert_mlp;
                           * rows = 0: no such tensor */
    size_t groups, mlp, source, experts; /* shape of the block, as in struct
                                          * block_shape */
    size_t linear;
    uint64_t sparse; /* W_BIT of matrices whose zeros stay zero in
                      * training, in the pattern config.sparse (sparse.h) */
};

struct block_shape block_shape(const struct block *b);
void block_set_shape(struct block *b, const struct block_shape *shape);

struct model {
    struct config c;
    struct weight embed;     /* [V,d] */
    struct weight norm;      /* [d] */
    struct weight head;      /* [V,d]; == embed when tied */
    struct weight norm_bias; /* [d]; rows 0: the final norm has no bias */
    struct weight positions; /* [max_pos,d]; rows 0: they are not learned */
    struct weight head_bias; /* [V]; rows 0: the head has no bias */
    struct block *block;     /* [L] */
    char *path;
    json_t *origin; /* object of kept_groups and kept_channels (origin.h), freed
                     * by model_close; NULL: the model has all groups and
                     * channels of the original */
    void *own;      /* mappings and buffers, freed by model_close */
    /* called when n more parameters have been written; or NULL */
    void (*written)(size_t n);
    int compress; /* 1: write 2:4 matrices compressed (compressed.h); not with
                   * fetch */
    const struct fetch *fetch; /* fetch.h; NULL: all weights are there */
    struct adapter *adapter;   /* the adapter that model_adapt opened, freed by
                                * model_close; or NULL */
};
struct adapter;

/* Open a model.  path: a directory with config.json and safetensors (one file,
 * or several with an index), or a .gguf.  Checks every shape against the
 * configuration. */
int model_open(struct model *m, const char *path, struct err *e);
void model_close(struct model *m);
/* Let the system drop pages of w (NULL: of all weights) that have been read, if
 * they are mapped from a file. */
void model_forget(const struct model *m, const struct weight *w);
/* model_forget of n rows of w from `row` on, for a w that is read tile by tile.
 * A little may stay in memory until model_forget. */
void model_forget_tile(const struct model *m, const struct weight *w,
    size_t row, size_t n);
/* Check that every weight is finite.  -1: the error names the tensor.  Drops
 * the pages that it reads. */
int model_check_finite(const struct model *m, struct err *e);
/* model_open, model_check_finite and, unless adapter is NULL, model_adapt
 * (adapter_file.h). */
int model_open_checked(struct model *m, const char *path, const char *adapter,
    struct err *e);
/* XXH3-128, in hex, of the head (fp32 rows in logical order) and the final
 * norm.  Drops the pages that it reads. */
void model_head_hash(const struct model *m, char out[33]);
/* XXH3-128, in hex, of the configuration and of all weights as stored.  Drops
 * the pages that it reads. */
void model_hash(const struct model *m, char out[33]);
/* Is a matrix of m stored in F8_E4M3? */
int model_is_f8(const struct model *m);
/* Let m->head have the bias m->head_bias, if there is one: after a change of
 * either. */
void model_set_bias(struct model *m);
/* Outer tensor k; its rows are 0 if m does not have it. */
const struct weight *model_outer(const struct model *m, enum outer_tensor k);
/* Set b [L] to the shapes of all blocks. */
void model_shape(const struct model *m, struct block_shape *b);
/* The number of parameters without padding; a tied head counts once. */
size_t model_params(const struct model *m);
/* The most MLP channels of any block; at least 1. */
size_t model_widest(const struct model *m);

#endif
