/* Families of models.  All share one forward and one backward pass.  A family
 * is an entry of the table in family.c; config_fields.c lists the keys
 * of files that it reads. */
#ifndef MODEL_FAMILY_H
#define MODEL_FAMILY_H

#include "model/config/config.h"
#include "model/config/tensors.h"

#include <stdint.h>

/* A family's bit in the table of keys. */
#define FAMILY_BIT(n) (UINT64_C(1) << (n))
#define FAMILY_LLAMA FAMILY_BIT(0)
#define FAMILY_MISTRAL FAMILY_BIT(1)
#define FAMILY_QWEN2 FAMILY_BIT(2)
#define FAMILY_QWEN3 FAMILY_BIT(3)
#define FAMILY_GEMMA3 FAMILY_BIT(4)
#define FAMILY_GEMMA2 FAMILY_BIT(5)
#define FAMILY_OLMO2 FAMILY_BIT(6)
#define FAMILY_OLMO3 FAMILY_BIT(7)
#define FAMILY_SMOLLM3 FAMILY_BIT(8)
#define FAMILY_GRANITE FAMILY_BIT(9)
#define FAMILY_PHI3 FAMILY_BIT(10)
#define FAMILY_MINISTRAL3 FAMILY_BIT(11)
#define FAMILY_SEED_OSS FAMILY_BIT(12)
#define FAMILY_MINISTRAL FAMILY_BIT(13)
#define FAMILY_GEMMA FAMILY_BIT(14)
#define FAMILY_MIXTRAL FAMILY_BIT(15)
#define FAMILY_QWEN2_MOE FAMILY_BIT(16)
#define FAMILY_QWEN3_MOE FAMILY_BIT(17)
#define FAMILY_OLMOE FAMILY_BIT(18)
#define FAMILY_QWEN3_5 FAMILY_BIT(19)
#define FAMILY_GPT_OSS FAMILY_BIT(20)
#define FAMILY_DEEPSEEK_V2 FAMILY_BIT(21)
#define FAMILY_DEEPSEEK_V3 FAMILY_BIT(22)
#define FAMILY_LFM2 FAMILY_BIT(23)
#define FAMILY_APERTUS FAMILY_BIT(24)
#define FAMILY_COHERE FAMILY_BIT(25)
#define FAMILY_COHERE2 FAMILY_BIT(26)
#define FAMILY_GPT_NEOX FAMILY_BIT(27)
#define FAMILY_GPT2 FAMILY_BIT(28)
#define FAMILY_STARCODER2 FAMILY_BIT(29)
#define FAMILY_PHI FAMILY_BIT(30)
#define FAMILY_GLM4 FAMILY_BIT(31)
#define FAMILY_GLM FAMILY_BIT(32)
#define FAMILY_EXAONE4 FAMILY_BIT(33)
#define FAMILY_QWEN3_NEXT FAMILY_BIT(34)
#define FAMILY_QWEN3_5_MOE FAMILY_BIT(35)

/* Which blocks attend only to the last sliding_window tokens: those that
 * layer_types calls sliding_attention or, without that key, as below. */
enum windows {
    WINDOW_NEVER,    /* none */
    WINDOW_ALL,      /* all; layer_types may not except a block */
    WINDOW_LISTED,   /* all */
    WINDOW_BY_LAYER, /* those from max_window_layers on */
    WINDOW_EVERY     /* all but every n-th, n being `every` of the family */
};

/* A tensor outside of blocks.  In training each is a group of its own: group L
 * + k. */
enum outer_tensor {
    OUTER_EMBED,
    OUTER_NORM,
    OUTER_HEAD,
    OUTER_NORM_BIAS,
    OUTER_POSITIONS,
    OUTER_HEAD_BIAS,
    OUTER_N
};

/* The names of tensor t in a family, where they are not those of most families;
 * NULL: as in most.  t is W_N + k for outer tensor k; the last entry has
 * t -1. */
struct tensor_name {
    int t;
    const char *hf, *gguf;
};

/* A stored tensor: the rows of the block's tensors first..first+n-1, one after
 * another; n is 1 unless the family is fused.  Biases have elements for
 * rows. */
struct stored_rows {
    const char *name; /* after family_blocks and "N." */
    const char *gguf; /* after "blk.N."; NULL: a GGUF has the tensors apart */
    int first, n;
};

struct family {
    const char *type;  /* model_type in config.json; config.arch */
    const char *class; /* in config.json's list "architectures" */
    const char *gguf;  /* general.architecture; for one that several families
                        * have, family_of_gguf returns the first of them */
    uint64_t bit;
    uint64_t more; /* optional tensors, W_BQ and later: W_BIT of each */
    uint64_t less; /* tensors among the first nine that the family lacks */
    enum windows windows;
    size_t every; /* the n of WINDOW_EVERY */
    /* what the family computes in another way than Llama */
    int permuted;    /* GGUF permutes the rows of Q and K */
    int gguf_head;   /* Does a GGUF hold the tensor output.weight?  1: always,
                      * even if the head is the embedding; -1: never, llama.cpp
                      * uses the embedding; 0: if the head is a matrix of its
                      * own */
    int gemma;       /* a Gemma: Hugging Face stores norms minus 1 (GGUF does
                      * not); embeddings are multiplied by sqrt(hidden size);
                      * the MLP is GeGLU */
    int local_rope;  /* blocks with a window have RoPE of their own: default,
                      * with the base config.theta_local */
    int whole_norms; /* W_NQ and W_NK are norms of the whole projection, not of
                      * each head */
    const struct stored_rows *fused; /* stored tensors that hold several of a
                                      * block's; the last entry has n 0.  NULL:
                                      * there are none */
    int by_head; /* 1: in a Hugging Face directory fused tensors have the rows
                  * of the first head (of Q, then of K, then of V) before those
                  * of the second; for the gated delta rule see
                  * delta_fused_row */
    int turned;  /* Hugging Face's files have matrices of blocks as [in,out] */
    int learned; /* in place of RoPE each position has a vector, which is added
                  * to the embedding; there are config.max_pos of them */
    const char *blocks; /* prefix of blocks' tensors in Hugging Face's files,
                         * such as "transformer.h."; NULL:
                         * "model.layers." */
    int joined;         /* Hugging Face stores experts' matrices in one tensor
                      * (experts_joined.h) */
    int clamped_glu;    /* 1: experts use the unit of glu_clamp.h */
    const struct tensor_name *names; /* NULL: all are as in most families */
    int minus_one;  /* Hugging Face stores norms minus 1, as of a Gemma */
    int layer_norm; /* norms of the residual stream are LayerNorm */
    int parallel;   /* blocks are parallel (run.h), whatever config.parallel
                     * is */
    int head_bias;  /* logits have a bias */
    int even_heads; /* a head has hidden size / heads numbers: files have no key
                     * for another size */
    int gguf_even;  /* llama.cpp loads only models whose heads have hidden
                     * size / heads numbers */
    uint64_t may_bias; /* biases that blocks have only if config.attn_bias is
                        * 1: W_BIT of each */
    int pairs;         /* RoPE turns 2i and 2i + 1 together, in both formats */
    int gated; /* W_Q has, after the rows of each head, as many rows more,
                    * which give the gate of that head's output (att_gate) */
};

/* The family of a model_type, or of a GGUF's architecture; NULL: not supported.
 * family_of: the family of a configuration that has been read, never NULL. */
const struct family *family_named(const char *type);
const struct family *family_of_gguf(const char *architecture);
const struct family *family_of(const struct config *c);

/* The number to add to the values of vector t (-1: the final norm) as Hugging
 * Face stores them: 1 for norms that are stored minus 1 (`gemma`, `minus_one`),
 * else 0. */
float family_norm_add(const struct config *c, int t);

/* Logical rows and columns of tensor t of a block of shape b (NULL: the whole
 * block 0).  A vector has 1 row; both are 0 if the family or the block does not
 * have the tensor. */
void block_dims(const struct config *c, int t, const struct block_shape *b,
    size_t *rows, size_t *cols);

/* The prefix of blocks' tensors in Hugging Face's files, such as
 * "model.layers."; the block's number and "." follow it. */
const char *family_blocks(const struct config *c);
/* The Hugging Face name of tensor t behind prefix and number, such as
 * "input_layernorm.weight"; NULL: the family has no such tensor. */
const char *block_tensor_name(const struct config *c, int t);
/* The name of the embedding, the final norm, the head and so on in a GGUF (gguf
 * 1) or in a Hugging Face directory (0).  family_has_outer: does a model of c
 * store the tensor?  A tied head is not stored. */
const char *family_outer_name(const struct config *c, enum outer_tensor k,
    int gguf);
int family_has_outer(const struct config *c, enum outer_tensor k);

/* Return which tensor of the file holds tensor t of a block.  gguf 1: the file
 * is a GGUF; 0: it is of a Hugging Face directory. */
struct stored_rows block_stored(const struct config *c, int t, int gguf);
/* The row of the stored tensor, in a Hugging Face directory, that is row r of
 * tensor t; `before`: rows of those tensors that it holds before t. */
size_t block_stored_row(const struct config *c, int t, size_t before, size_t r);
/* block_dims for stored tensors: rows and columns, or of a vector elements and
 * 1. */
void block_stored_dims(const struct config *c, int t,
    const struct block_shape *b, size_t *rows, size_t *cols);

/* block_is_vector: is tensor t a vector (which has no weight decay)?
 * block_is_bias: a bias?  block_is_attention: a part of attention, its norms
 * included? */
int block_is_vector(int t);
int block_is_bias(int t);
int block_is_attention(int t);
/* Is tensor t used by the gated delta rule (block_is_delta), by the short
 * convolution (block_is_short), by latent attention (block_is_latent)?  W_CONV
 * is used by the delta rule and by the short convolution. */
int block_is_delta(int t);
int block_is_short(int t);
int block_is_latent(int t);
/* Is tensor t one of the four numbers of xIELU?  In a GGUF they are no tensors:
 * the metadata has, under the key stored_rows.gguf, a list of a number for each
 * block. */
int block_is_xielu(int t);
/* Is tensor t of the router, of the experts, or the shared expert's gate?
 * Biases count, too. */
int block_is_of_experts(int t);

#endif
