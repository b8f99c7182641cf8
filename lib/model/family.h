/*
 * Families of models.  All share one forward and one backward pass; a family is
 * a line in the table here, in that of a block's tensors, and in that of
 * config.json's keys (config_keys.c).
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

/* The rule by which blocks attend within the window of config.json. */
enum windows { WINDOW_NEVER, WINDOW_ALL, WINDOW_BY_LAYER, WINDOW_BUT_SIXTH };

struct family {
    const char *type;  /* model_type in config.json; config.arch */
    const char *class; /* in config.json's list "architectures" */
    const char *gguf;  /* general.architecture; of families with the same one, a
                        * GGUF opens as the first */
    unsigned bit;
    unsigned more; /* optional tensors, W_BQ and later: 1u << W_... */
    /* defaults of transformers where config.json has no key */
    size_t KV; /* 0: the number of query heads */
    size_t D;  /* 0: hidden size / query heads */
    size_t max_pos;
    size_t window;
    enum windows windows;
    int permuted;      /* GGUF permutes the rows of Q and K */
    int gemma;         /* a Gemma: Hugging Face stores norms minus 1 (GGUF does
                        * not); embeddings are multiplied by sqrt(hidden size);
                        * the MLP is GeGLU.  By default the head is tied, and
                        * blocks with a window have another RoPE base */
    const char *norm2; /* Hugging Face name of W_NORM2, NULL:
                        * post_attention_layernorm */
};

/* The family of a model_type, or of a GGUF's architecture; NULL: not supported.
 * family_of: the family of a configuration that has been read, never NULL. */
const struct family *family_named(const char *type);
const struct family *family_of_gguf(const char *architecture);
const struct family *family_of(const struct config *c);
/* All families' names, for messages: "llama, mistral"; gguf: names of GGUF
 * architectures. */
const char *family_names(int gguf);

/* The number to add to the values of vector t (-1: the final norm) as Hugging
 * Face stores them: 1 for a Gemma's norms, else 0. */
float family_norm_add(const struct config *c, int t);

/* Logical rows and columns of tensor t of a block of shape b (NULL: a whole
 * block).  A vector has 1 row; both are 0 if the family or the block does not
 * have the tensor. */
void block_dims(const struct config *c, int t, const struct block_shape *b,
    size_t *rows, size_t *cols);
/* The name of tensor t in a GGUF, after "blk.N.". */
const char *block_gguf_name(int t);

/* The Hugging Face name of tensor t after "model.layers.N.", such as
 * "input_layernorm.weight"; NULL: the family has no such tensor. */
const char *block_tensor_name(const struct config *c, int t);
/* Is tensor t a vector (which has no weight decay)?  A bias?  A part of
 * attention (its norms included), not of the MLP? */
int block_is_vector(int t);
int block_is_bias(int t);
int block_is_attention(int t);

#endif
