/*
 * A model's configuration, read from config.json or GGUF metadata.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "base/err.h"
#include "model/config/router.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { CONFIG_EOS = 32, CONFIG_LAYERS = 4096, CONFIG_ROTARY = 256 };

/* The shape of a block.  source: the block's index in the model that it was cut
 * from; in a model that was not cut, the block's own index. */
struct block_shape {
    size_t groups; /* key-value heads, each of H/KV query heads; 0: the block
                    * has no attention */
    size_t mlp;    /* channels; 0: the block has no MLP */
    size_t source;
    size_t experts; /* number of experts of the block's router; mlp is then the
                     * width of the shared expert, 0 without one.  0: no
                     * experts, the MLP is dense */
    size_t linear;  /* 1: in place of attention the block has the gated delta
                     * rule (delta.h) or, in an LFM2, the short convolution
                     * (short.c); groups is then 0 */
};

enum { CONV_TAPS = 64 };

/* Sizes of the gated delta rule (delta.h). */
struct delta_shape {
    size_t keys, values; /* heads; values is a multiple of keys */
    size_t dk, dv;       /* size of a head of keys, of values */
    int tiled;           /* weights have the value heads in a GGUF's order: the
                          * first one of each key head, then all second ones */
};

/* Sizes of latent attention (mla.h). */
struct mla_shape {
    size_t q_rank;  /* width of the latent of queries; 0: they have no latent */
    size_t kv_rank; /* width of the latent of keys and values */
    size_t nope;    /* numbers of a query or key head without RoPE */
    size_t rope;    /* numbers of a query or key head with RoPE */
    size_t v;       /* numbers of a value head */
    int halves; /* 1: RoPE turns i and i + rope/2 together; 0: 2i and 2i + 1 */
};

/* Kinds of RoPE, in the order of enum kern_rope (kern/rope.h). */
enum rope_kind {
    ROPE_DEFAULT,
    ROPE_LINEAR,
    ROPE_LLAMA3,
    ROPE_DYNAMIC,
    ROPE_YARN,
    ROPE_LONGROPE
};

struct config {
    char arch[32];        /* model_type: "llama", ... (family.h) */
    size_t V;             /* vocabulary: rows of embed and head */
    size_t d;             /* hidden size */
    size_t L;             /* blocks */
    size_t H, KV, D;      /* query heads, key-value heads, head size */
    size_t mlp;           /* most channels of an MLP in any block, as KV is the
                           * most groups in any block; each at least 1.  struct
                           * block has the numbers of one block */
    struct router router; /* how blocks with experts choose; n 0: no block has
                           * experts */
    size_t expert_mlp;    /* channels of an expert */
    size_t shared_mlp;    /* channels of the shared expert; 0: none */
    unsigned char dense[CONFIG_LAYERS / 8]; /* with experts: a bit for each
                                             * block that has none */
    struct mla_shape mla;     /* kv_rank 0: attention is not latent; else KV is
                               * H, and D nope + rope */
    struct delta_shape delta; /* keys 0: no block has the gated delta rule */
    size_t conv; /* tokens that the convolution of `linear` blocks spans, at
                  * most CONV_TAPS; 0: there are no such blocks */
    unsigned char linear[CONFIG_LAYERS / 8]; /* a bit for each block that has
                                              * the gated delta rule or, if
                                              * delta.keys is 0, the short
                                              * convolution */
    size_t max_pos;
    size_t window; /* tokens that a token attends to in `local` blocks */
    unsigned char local[CONFIG_LAYERS / 8]; /* a bit for each block that has the
                                             * window */
    double eps;                             /* of norms */
    double theta;                           /* RoPE base */
    double theta_local; /* RoPE base of blocks with a window; 0: theta */
    enum rope_kind rope;
    double rope_factor; /* of every kind but default; longrope: 0 if it is not
                         * given */
    double rope_low, rope_high; /* llama3: low_freq_factor, high_freq_factor;
                                 * yarn: beta_slow, beta_fast */
    size_t rope_orig;           /* original_max_position_embeddings of llama3,
                                 * yarn, longrope and Ministral 3 */
    double rope_scale; /* yarn, longrope: factor of cosines and sines */
    double rope_mscale, rope_mscale_all; /* yarn: mscale and mscale_all_dim,
                                          * from which rope_scale follows; 0:
                                          * not given */
    int rope_split;    /* yarn: 1: the corners may lie between two dimensions
                        * (truncate: false) */
    double rope_query; /* queries from position rope_orig on are multiplied by
                        * 1 + rope_query log(1 + floor(position /
                        * rope_orig)); 0: they are not */
    float rope_near[CONFIG_ROTARY / 2], rope_far[CONFIG_ROTARY / 2];
    /* longrope: [rotary/2] short_factor, long_factor */
    size_t rotary; /* RoPE turns the first `rotary` dimensions of a head; 0: all
                    * D */
    unsigned char no_rope[CONFIG_LAYERS / 8]; /* a bit for each block whose
                                               * heads are not turned */
    int tied;                                 /* the head is the embedding */
    int64_t bos, pad;                         /* token ids, -1 if none */
    int64_t eos[CONFIG_EOS];
    size_t neos; /* ids in eos, each of which ends a text */
    double init_range;
    int cut;            /* cut from another model (retort.kept) */
    char sparse[16];    /* pattern of the sparse matrices (sparse.h), or "" */
    size_t attn_scalar; /* attention scores are multiplied by attn_scalar^-0.5;
                         * 0: by D^-0.5 */
    double attn_scale;  /* if not 0, the factor of attention scores, whatever
                         * attn_scalar is */
    double attn_cap, final_cap; /* attention scores, and logits, z become
                                 * cap tanh(z/cap); 0: they stay */
    double embed_scale;         /* factor of the embedding's rows; 0: 1 */
    double residual_scale;      /* factor of what attention and MLP add to the
                                 * residual stream; 0: 1 */
    double logit_scale;         /* divisor of logits; 0: 1 */
    double logit_factor;        /* factor of logits; 0: 1 */
    int parallel;   /* 1: blocks are parallel (run.h), also if the family says
                     * so: config_parallel */
    int attn_bias;  /* 1: blocks have the biases family.may_bias */
    int exact_gelu; /* of MLPs without a gate: 1: GELU by erf, 0: its
                     * approximation by tanh */
};

/* Read a parsed config.json.  -1, and the JSON path in *e: a value is not
 * implemented, or a size is zero or absurd. */
int config_from_json(struct config *c, const json_t *j, struct err *e);
/* The part of a parsed config.json that is about text: its text_config, if
 * model_type is no family; else j. */
const json_t *config_text(const json_t *j);
/* Does what config_from_json does, and sets *b to the shapes of the blocks [L].
 * The caller frees *b. */
int config_read(struct config *c, struct block_shape **b, const json_t *j,
    struct err *e);
/* Read the config.json at path: config_read, or config_from_json if b is NULL.
 * Errors begin with path. */
int config_load(struct config *c, struct block_shape **b, const char *path,
    struct err *e);
/* Check that sizes, ids and RoPE numbers go together.  config_from_json does
 * this itself; configurations from elsewhere need the call. */
int config_check(const struct config *c, struct err *e);
/* Read retort.groups, retort.mlp and retort.kept of a config.json into b [L].
 * Where a list is missing, b has the values of config_whole_block. */
int config_blocks(const struct config *c, const json_t *j,
    struct block_shape *b, struct err *e);
/* The bit of block i in one of the sets of config, such as `local`. */
int config_bit(const unsigned char *bits, size_t i);
void config_bit_set(unsigned char *bits, size_t i, int on);
/* Tokens that a token attends to in block i; 0: all before it. */
size_t config_window(const struct config *c, size_t i);
/* The shape of block i of a model that was not cut. */
struct block_shape config_whole_block(const struct config *c, size_t i);
/* local 1: block i attends to the tokens of the window alone; 0: to all tokens
 * before.  In a cohere2, and in an exaone4 whose configuration has a window, a
 * block that attends to all has no RoPE. */
void config_set_local(struct config *c, size_t i, int local);
/* Has block i the gated delta rule or the short convolution in place of
 * attention? */
int config_linear(const struct config *c, size_t i);
/* What blocks of c with `linear` have, for messages; NULL: none has it. */
const char *config_linear_name(const struct config *c);
/* Are blocks parallel (run.h)? */
int config_parallel(const struct config *c);
/* The factor of logits: logit_factor / logit_scale. */
float config_logit_factor(const struct config *c);
/* Are the heads of block i turned by RoPE? */
int config_rope(const struct config *c, size_t i);
void config_set_rope(struct config *c, size_t i, int rope);
/* Dimensions of a head that RoPE turns. */
size_t config_rotary(const struct config *c);
/* Set the values that a GGUF of the family does not hold, as llama.cpp does:
 * every n-th block has no window, or no RoPE; in a Gemma attn_scalar is d / H
 * if it has as many blocks as the 27B, else D. */
void config_gguf_fixed(struct config *c);
/* Would config_gguf_fixed change which blocks of c have the window? */
int config_windows_lost(const struct config *c);
/* Does id end a text? */
int config_is_eos(const struct config *c, int64_t id);
/* The ids that end a text, as JSON: a number, a list of several, NULL: none. */
json_t *config_eos_json(const struct config *c);
/* The tokens of the longest text that the model is made for: max_pos, times the
 * factor of dynamic RoPE if c has it.  0: unknown. */
size_t config_positions(const struct config *c);
/* Are rows of T tokens longer than config_positions?  If positions are learned,
 * -1 and *e; else print a note.  Both call the model `who`. */
int config_check_positions(const struct config *c, size_t T, const char *who,
    struct err *e);
/* Make a config.json object that transformers 4 and 5, vLLM and llama.cpp's
 * converter can read: it has both rope_theta and rope_parameters.  b [L]: the
 * blocks' shapes; NULL: the model was not cut.  Shapes of cut blocks go to
 * "retort": {"groups": [...], "mlp": [...], "kept": [...]}. */
json_t *config_to_json(const struct config *c, const struct block_shape *b);
/* The number of parameters: embed + blocks + norm + head (if untied).  b: as in
 * config_to_json. */
size_t config_params(const struct config *c, const struct block_shape *b);

#endif
