/*
 * A model: a list of blocks.  Weights keep the type they are stored in and are
 * mapped read-only from a Hugging Face directory or a .gguf file.
 *
 * open.c and open_gguf.c open models, export.c and export_gguf.c write them.
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/err.h"
#include "model/config.h"
#include "model/weights.h"

#include <stddef.h>
#include <stdint.h>

/* The tensors of a block, in this order everywhere.  Most families have the
 * first nine; OLMo 2 and 3 have no W_NORM1 and W_NORM2, and DeepSeek has no W_K
 * and W_V.  Some have biases of Q, K and V, norms of Q and K, or norms of the
 * outputs of attention and MLP.  A block with experts has a router and the
 * experts' matrices, one expert after another; gate, up and down are then a
 * shared expert's, which may have a gate.  gpt-oss has a bias of each product
 * (those of experts have a row for each expert), and a sink for each query
 * head.  A block with the gated delta rule (delta.h) has W_DELTA_... in place
 * of attention.  With latent attention (mla.h), W_MLA_... give Q, K and V; W_Q
 * is there if queries have no latent. */
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
    W_ROUTER,
    W_EXPERT_GATE,
    W_EXPERT_UP,
    W_EXPERT_DOWN,
    W_SHARED_GATE,
    W_DELTA_MIX,  /* [C,d] of queries, keys, values; C as in delta.h */
    W_DELTA_Z,    /* [values*dv,d] of the gates of outputs */
    W_DELTA_BETA, /* [values,d] */
    W_DELTA_RATE, /* [values,d] */
    W_DELTA_CONV, /* [C*conv] the convolution's taps, C groups of conv */
    W_DELTA_DT,   /* [values] */
    W_DELTA_LOG,  /* [values] */
    W_DELTA_NORM, /* [dv] */
    W_DELTA_OUT,  /* [d,values*dv] */
    W_BO,
    W_SINKS,
    W_ROUTER_BIAS,
    W_BIAS_GATE,
    W_BIAS_UP,
    W_BIAS_DOWN,
    W_ROUTER_SHIFT, /* [E] added to scores for the choice alone */
    W_MLA_QA,       /* [q_rank,d] */
    W_MLA_NQ,       /* [q_rank] norm of the latent of Q */
    W_MLA_QB,       /* [H*D,q_rank] */
    W_MLA_KVA,      /* [kv_rank+rope,d] */
    W_MLA_NKV,      /* [kv_rank] norm of the latent of K and V */
    W_MLA_KVB,      /* [H*(nope+v),kv_rank] */
    W_N
};
/* The bit of tensor t in a set of tensors. */
#define W_BIT(t) (UINT64_C(1) << (t))
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

struct model {
    struct config c;
    struct weight embed; /* [V,d] */
    struct weight norm;  /* [d] */
    struct weight head;  /* [V,d]; == embed when tied */
    struct block *block; /* [L] */
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
/* Set b [L] to the shapes of all blocks. */
void model_shape(const struct model *m, struct block_shape *b);
/* The number of parameters without padding; a tied head counts once. */
size_t model_params(const struct model *m);
/* The most MLP channels of any block; at least 1. */
size_t model_widest(const struct model *m);

#endif
