/*
 * Families of models.  There is one forward and one backward pass; what tells
 * one family from another is a line of a table here, of the table of a block's
 * tensors and of that of config.json's keys (config_keys.c).
 */
#ifndef MODEL_FAMILY_H
#define MODEL_FAMILY_H

#include "model/model.h"

/* A family's bit in the table of keys. */
enum {
    FAMILY_LLAMA = 1,
    FAMILY_MISTRAL = 2,
    FAMILY_QWEN2 = 4,
    FAMILY_QWEN3 = 8,
    FAMILY_GEMMA3 = 16
};

/* The blocks that attend within the window of config.json. */
enum windows { WINDOW_NEVER, WINDOW_ALL, WINDOW_BY_LAYER, WINDOW_BUT_SIXTH };

struct family {
    const char *type;  /* model_type in config.json; config.arch */
    const char *class; /* in its architectures */
    const char *gguf;  /* general.architecture; of families that share one, the
                        * first is opened */
    unsigned bit;
    unsigned more; /* optional tensors, W_BQ and later: 1u << W_... */
    /* defaults of transformers where config.json has no key */
    size_t KV; /* 0: the number of query heads */
    size_t D;  /* 0: hidden size / query heads */
    size_t max_pos;
    size_t window;
    enum windows windows;
    int permuted;      /* GGUF permutes the rows of Q and K */
    int gemma;         /* Hugging Face stores norms less 1 (GGUF does not);
                        * embeddings are times sqrt(hidden size); GeGLU; by
                        * default tied, with another RoPE base in windows */
    const char *norm2; /* W_NORM2, if not post_attention_layernorm */
};

/* The family of a model_type; of a GGUF's architecture; NULL: not supported.
 * family_of: of a configuration that has been read; never NULL. */
const struct family *family_named(const char *type);
const struct family *family_of_gguf(const char *architecture);
const struct family *family_of(const struct config *c);
/* All names, for messages: "llama, mistral"; gguf: of architectures. */
const char *family_names(int gguf);

/* The number that Hugging Face leaves out of the stored values of vector t (-1:
 * of the final norm): 1 or 0. */
float family_norm_add(const struct config *c, int t);

/* Logical rows and columns of tensor t of a block of that shape (NULL: of a
 * whole one): rows 1 for a vector; both 0 for one that the family, or the
 * block, does not have. */
void block_dims(const struct config *c, int t, const struct block_shape *b,
    size_t *rows, size_t *cols);
/* The name of tensor t in a GGUF, after "blk.N.". */
const char *block_gguf_name(int t);

/* "input_layernorm.weight", ...; NULL when that family has none. */
const char *block_tensor_name(const struct config *c, int t);
/* A vector, so without decay?  One that is added?  A part of attention (its
 * norms included), else of the MLP? */
int block_is_vector(int t);
int block_is_bias(int t);
int block_is_attention(int t);

#endif
