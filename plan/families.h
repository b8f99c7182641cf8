/* Shapes of models that student cannot train, and a check of any shape by the
 * model's files.  Families of models, by model_type, say what their config.json
 * leaves out. */
#ifndef PLAN_FAMILIES_H
#define PLAN_FAMILIES_H

#include "shape.h"
#include "base/err.h"
#include "base/mem.h"

#include <jansson.h>

/* Properties of a family's models that their sizes do not tell; families.json
 * names them in this order. */
enum {
    SHAPE_GATED = 1,           /* the MLP has three matrices, not two */
    SHAPE_TIED = 2,            /* the head is the embedding by default */
    SHAPE_NORM_BIAS = 4,       /* norms have a bias beside their scale */
    SHAPE_QKV_BIAS = 8,        /* biases of queries, keys and values */
    SHAPE_OUT_BIAS = 16,       /* bias of attention's output */
    SHAPE_MLP_BIAS = 32,       /* biases of the MLP, experts and router */
    SHAPE_HEAD_BIAS = 64,      /* bias of the head */
    SHAPE_POSITIONS = 128,     /* a learned embedding of positions */
    SHAPE_PAD_2 = 256,         /* two more rows of positions */
    SHAPE_EMBED_NORM = 512,    /* a norm after the embedding of tokens */
    SHAPE_QK_HEAD = 1024,      /* norms of queries and keys over each head */
    SHAPE_QK_ALL = 2048,       /* norms of queries and keys over all heads */
    SHAPE_MULTI_QUERY = 4096,  /* one key/value head by default */
    SHAPE_PARALLEL = 8192,     /* one norm before attention and MLP (Falcon) */
    SHAPE_SINKS = 16384,       /* a number for each head (attention sink) */
    SHAPE_WINDOW = 32768,      /* all blocks have the window, if there is one */
    SHAPE_WINDOW_HALF = 65536, /* every second block has the window */
    SHAPE_NEWER = 131072,      /* new_decoder_architecture (Falcon) */
    /* biases of GPT-2's blocks */
    SHAPE_GPT =
        SHAPE_NORM_BIAS | SHAPE_QKV_BIAS | SHAPE_OUT_BIAS | SHAPE_MLP_BIAS,
};

struct shape_family {
    unsigned norms;    /* norms of a block, each of the model's width */
    unsigned contents; /* SHAPE_* */
};

/* Set *f to the family of a configuration.  1; 0: it is not known. */
int shape_family(struct shape_family *f, const json_t *j);
/* Append the names of all families: "a, b". */
void shape_family_names(struct buf *b);
/* Set *contents to the SHAPE_* of a configuration: those of its family, changed
 * by keys such as attention_bias.  -1 and *e. */
int shape_contents(unsigned *contents, const json_t *j, struct err *e);
/* Check that every key of the configuration is read or changes no size.  sizes:
 * names of the keys that the caller reads, with blanks between them.  -1 and
 * *e: a key is not known, or its value is not supported. */
int shape_check_keys(const json_t *j, const char *sizes, struct err *e);

/* Set *s from the sizes in j, a config.json.  Its model_type must be a family
 * of families.json.  If it has none, j may also have the keys mlp_matrices and
 * dropout.  -1 and *e: a key that matters is missing or not known, or the sizes
 * are impossible. */
int shape_from_sizes(struct shape *s, const json_t *j, struct err *e);

/* Compare the shape with model.safetensors.index.json, or the header of
 * model.safetensors, in the folder dir, whose config.json is j.  Nothing is
 * compared if there is neither, if weights are quantised, if the files have
 * blocks that predict further tokens (DeepSeek-V3), or if the model was cut by
 * prune, which may pad blocks by zeros.  -1 and *e: the numbers of parameters
 * differ by more than 1 %, also if a tied head is counted twice. */
int stored_check(const struct shape *s, const json_t *j, const char *dir,
    struct err *e);

#endif
