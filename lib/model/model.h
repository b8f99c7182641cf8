/*
 * A model: a list of blocks.  Weights stay in their stored type, mapped
 * read-only from a Hugging Face directory or a .gguf file.
 *
 * A model is opened in open.c and open_gguf.c and written in export.c and
 * export_gguf.c.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/err.h"
#include "model/config.h"
#include "model/weights.h"

#include <stddef.h>
#include <stdint.h>

/* The tensors of a block, in this order everywhere: nine, and those that some
 * families have: biases of Q, K and V, norms of each head of Q and K, norms of
 * what attention and MLP add to the residual stream. */
enum {
    W_NORM1,
    W_Q,
    W_K,
    W_V,
    W_O,
    W_NORM2,
    W_GATE,
    W_UP,
    W_DOWN,
    W_BQ,
    W_BK,
    W_BV,
    W_NQ,
    W_NK,
    W_NORM_ATT,
    W_NORM_MLP,
    W_N
};
struct block {
    struct weight w[W_N];       /* [d] [H*D,d] [KV*D,d] [KV*D,d] [d,H*D] [d]
                             * [mlp,d] [mlp,d] [d,mlp] [H*D] [KV*D] [KV*D] [D]
                             * [D] [d] [d] of the heads and channels that the
                             * block has; without rows where there is none */
    size_t groups, mlp, source; /* as in struct block_shape */
    unsigned sparse; /* matrices whose zeros stay: bits 1u << W_...; in the
                      * pattern of config.sparse (sparse.h) */
};

struct block_shape block_shape(const struct block *b);

struct model {
    struct config c;
    struct weight embed; /* [V,d] */
    struct weight norm;  /* [d] */
    struct weight head;  /* [V,d]; == embed when tied */
    struct block *block; /* [L] */
    char *path;
    json_t *origin; /* origin.h; NULL: all; a reference */
    void *own;      /* mappings and buffers, freed by model_close */
    /* NULL, or called while weights are written: n parameters more are. */
    void (*written)(size_t n);
    int compress; /* write 2:4 matrices as compressed.h says; without fetch */
    const struct fetch *fetch; /* fetch.h; NULL: all weights are there */
};

/* path: a directory with config.json and safetensors (one file or an index),
 * or a .gguf.  Checks every shape against the configuration. */
int model_open(struct model *m, const char *path, struct err *e);
void model_close(struct model *m);
/* Let the system drop the pages of w (NULL: of all weights) that have been
 * read, where it lies in a file. */
void model_forget(const struct model *m, const struct weight *w);
/* model_forget of the n rows at `row`, when w is read such a tile after
 * another; a little may stay until all is forgotten. */
void model_forget_tile(const struct model *m, const struct weight *w,
    size_t row, size_t n);
/* Every weight finite?  Reads all of them, and forgets them again; refuses
 * with the tensor's name. */
int model_check_finite(const struct model *m, struct err *e);
/* XXH3-128 of the head in logical fp32 rows and the final norm, as hex.
 * Forgets them again. */
void model_head_hash(const struct model *m, char out[33]);
/* XXH3-128 of the configuration and of all weights as they are stored, as hex.
 * Forgets them again. */
void model_hash(const struct model *m, char out[33]);
/* The shapes of all blocks, b [L]. */
void model_shape(const struct model *m, struct block_shape *b);
/* Parameters of the model at its true shapes, a tied head counted once. */
size_t model_params(const struct model *m);
/* The widest block's MLP channels, at least 1. */
size_t model_widest(const struct model *m);

#endif
