/*
 * A model's configuration, read from config.json or GGUF metadata.
 */
#ifndef MODEL_CONFIG_H
#define MODEL_CONFIG_H

#include "base/err.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

enum { CONFIG_EOS = 32, CONFIG_LAYERS = 4096 };

/* The shape of a block, and the block of the model that it was cut from; its
 * own index in a model that was not cut. */
struct block_shape {
    size_t groups; /* key-value heads, each with its H/KV query heads; 0: the
                    * block has no attention */
    size_t mlp;    /* channels; 0: the block has no MLP */
    size_t source;
};

enum rope_kind { ROPE_DEFAULT, ROPE_LINEAR, ROPE_LLAMA3 };

struct config {
    char arch[32];   /* model_type: "llama", ... (family.h) */
    size_t V;        /* vocabulary: rows of embed and head */
    size_t d;        /* hidden size */
    size_t L;        /* blocks */
    size_t H, KV, D; /* query heads, key-value heads, head size */
    size_t mlp;      /* widest MLP; like KV, at least what any block has and at
                      * least 1; a block's own shape is in struct block */
    size_t max_pos;
    size_t window; /* tokens that one attends to in `local` blocks */
    unsigned char local[CONFIG_LAYERS / 8]; /* a bit a block */
    double eps;                             /* of RMSNorm */
    double theta;       /* RoPE base; rope_theta and rope_parameters */
    double theta_local; /* of blocks with a window; 0: theta */
    enum rope_kind rope;
    double rope_factor, rope_low, rope_high; /* linear, llama3 */
    size_t rope_orig; /* llama3: original_max_position_embeddings */
    int tied;         /* the head is the embedding */
    int64_t bos, pad; /* token ids, -1 if none */
    int64_t eos[CONFIG_EOS];
    size_t neos; /* any of them ends a text */
    double init_range;
    int cut;         /* its blocks are some of another model's: retort.kept */
    char sparse[16]; /* pattern of the sparse matrices (sparse.h), or "" */
    size_t attn_scalar; /* scores are times attn_scalar^-0.5; 0: D */
};

/* From a parsed config.json; refuses what is not implemented, or not known, by
 * its JSON path, and sizes that are zero or absurd. */
int config_from_json(struct config *c, const json_t *j, struct err *e);
/* From that file; errors begin with its path.  b: NULL, or *b gets the blocks'
 * shapes [L], which the caller frees. */
int config_load(struct config *c, struct block_shape **b, const char *path,
    struct err *e);
/* Sizes, ids and RoPE numbers that are possible together?  Part of
 * config_from_json; for configurations that come from elsewhere. */
int config_check(const struct config *c, struct err *e);
/* retort.groups, retort.mlp and retort.kept of a config.json into b[L]; all
 * c->KV, c->mlp and 0, 1, 2, ... where they are missing. */
int config_blocks(const struct config *c, const json_t *j,
    struct block_shape *b, struct err *e);
/* Tokens that one attends to in block i; 0: all before it. */
size_t config_window(const struct config *c, size_t i);
void config_set_local(struct config *c, size_t i, int local);
/* Set the values of a Gemma 3 that a GGUF does not hold, as llama.cpp does:
 * every sixth block without a window, and the scale of scores (the 27B alone
 * has another). */
void config_gguf_fixed(struct config *c);
/* Has it other blocks with a window? */
int config_windows_lost(const struct config *c);
/* Does id end a text? */
int config_is_eos(const struct config *c, int64_t id);
/* The ids that do as JSON: a number, a list of several, NULL for none. */
json_t *config_eos_json(const struct config *c);
/* A note if rows of T tokens are longer than the positions of the model, which
 * `who` names. */
void config_tell_positions(const struct config *c, size_t T, const char *who);
/* A new object that transformers 4 and 5, vLLM and llama.cpp's converter
 * read: both rope_theta and rope_parameters are written.  b [L], or NULL when
 * all blocks are whole; what differs from that goes to the key
 * "retort": {"groups": [...], "mlp": [...], "kept": [...]}. */
json_t *config_to_json(const struct config *c, const struct block_shape *b);
/* Parameters of the model: embed + blocks + norm + head (if untied).  b as
 * above. */
size_t config_params(const struct config *c, const struct block_shape *b);

#endif
