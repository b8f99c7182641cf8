/*
 * A model: a list of blocks.  Weights stay in their stored type, mapped
 * read-only from a Hugging Face directory or a .gguf file, and are widened to
 * fp32 a tile of rows at a time in front of the matrix product.
 *
 * A model is opened in open.c and open_gguf.c, its weights are read in
 * weights.c, and it is written in export.c and export_gguf.c with the
 * tokenizer's files (tokfile.c).
 */
#ifndef MODEL_MODEL_H
#define MODEL_MODEL_H

#include "base/err.h"
#include "format/gguf_write.h"
#include "format/safetensors.h"
#include "model/config.h"

#include <stddef.h>
#include <stdint.h>

/* A matrix [rows,cols], row-major as in y = x W^T, or a vector (rows 1).  With
 * a mask it is 2:4, and data are the numbers that it names (compressed.h). */
struct weight {
    const unsigned char *data;
    enum dtype dtype;
    size_t rows, cols;
    size_t stride; /* bytes a row */
    size_t perm;   /* heads whose rows llama.cpp permuted; 0: none */
    float add;     /* to a norm's stored values, where they are used */
    const unsigned char *mask; /* or NULL; rows of mask_stride bytes */
    size_t mask_stride;
};
/* Rows r0..r0+n-1 widened to fp32 out [n,cols], in logical row order (GGUF's
 * permutation of Q and K undone), as they are stored: without `add`. */
void weight_rows(const struct weight *w, size_t r0, size_t n, float *out);
/* Bytes of all rows, masks too. */
size_t weight_bytes(const struct weight *w);
/* The fp32 data itself when no widening is needed, else NULL. */
const float *weight_f32(const struct weight *w);
/* c [m,n] with ldc = a [m,cols] times the n rows from r0 on, transposed.  What
 * is not fp32 is widened in `wide`, which holds a piece that second-level
 * caches keep; the bits are those of the product with all of it widened. */
enum { WEIGHT_PIECE = 192 * 768 };
void weight_product(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *a, float *wide, float *c, size_t ldc);

/* y [m,n] with ldy = few rows of x [m,cols] times the n rows from r0 on,
 * transposed, as they are stored: kern.dots without widening.  -1: there is no
 * such kernel for this type. */
int weight_dots(const struct weight *w, size_t r0, size_t n, size_t m,
    const float *x, float *y, size_t ldy);

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
/* "input_layernorm.weight", ...; NULL when that family has none. */
const char *block_tensor_name(const struct config *c, int t);
/* A vector, so without decay?  One that is added?  A part of attention (its
 * norms included), else of the MLP? */
int block_is_vector(int t);
int block_is_bias(int t);
int block_is_attention(int t);

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
/* What has been read of w (NULL: of all weights) need not stay in memory where
 * it lies in a file. */
void model_forget(const struct model *m, const struct weight *w);
/* The same of the n rows at `row`, when w is read such a tile after another; a
 * little may stay until all is forgotten. */
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

/*
 * Write a Hugging Face directory: config.json, model.safetensors (F32, F16 or
 * BF16), tokenizer.json, tokenizer_config.json, generation_config.json and
 * special_tokens_map.json, the tokenizer files copied from or converted out
 * of `tok_from` (a model directory or .gguf; NULL: none).  The directory must
 * not exist; it appears whole or not at all.  Blocks of fewer groups than c.KV
 * or fewer channels than c.mlp are zero-padded to these, so that every loader
 * takes it, and their true shapes are recorded under "retort".
 */
int model_export(const struct model *m, const char *dir, enum dtype as,
    const char *tok_from, struct err *e);
/*
 * Write a GGUF as llama.cpp's converter would: matrices as F32, F16, BF16, Q8_0
 * or, in blocks, Q4_0, embedding and head then Q8_0 (F16 where rows are no
 * multiple of 32), vectors as F32, blocks padded as above, tokenizer from
 * tok_from as above.  The file is replaced once the new one is whole.  Refuses,
 * or warns of, what a GGUF cannot say, but for padding.
 */
int model_export_gguf(const struct model *m, const char *file, enum dtype as,
    const char *tok_from, struct err *e);
/* The parts of it, for checkpoints: write them into an existing folder. */
int model_write_weights(const struct model *m, const char *file, enum dtype as,
    struct err *e);
int model_write_config(const struct model *m, const char *file, struct err *e);
/* generation_config.json with the ids of BOS, EOS and padding; a file that is
 * there already (the tokenizer's) is left as it is. */
int model_write_generation(const struct model *m, const char *file,
    struct err *e);
/* The tokenizer's files, from a model directory, a tokenizer.json or
 * tekken.json, or a .gguf.  Where there is only Mistral's own tekken.json, that
 * is written: the loaders of such models read it as it is.  Chat templates of a
 * folder additional_chat_templates become a list in tokenizer_config.json. */
int tokenizer_export(const char *from, const char *dir, struct err *e);
/* The files of a folder that tokenizer_export has written, as they are: of a
 * large tokenizer the JSON alone takes 500 bytes an id to look at. */
int tokenizer_copy(const char *from, const char *dir, struct err *e);
/* Is there a tokenizer in that model directory or .gguf?  1, 0, or -1. */
int tokenizer_is_there(const char *from, struct err *e);
/* The tokenizer as metadata of a GGUF with that configuration; from a .gguf all
 * that is said of it, with name and licence of the model.  NULL: says that
 * there is none. */
int tokenizer_to_gguf(const char *from, const struct config *c,
    struct gguf_out *o, struct err *e);

#endif
