/*
 * The shape of a model, without its weights, read from a GGUF, a folder, a
 * config.json or a shipped shape (plan/models).  Only sizes matter here, so the
 * config.json may be of a family that student does not train (families.h), or a
 * file of sizes without model_type.  Sizes have the names that transformers
 * gives them.
 */
#ifndef PLAN_SHAPE_H
#define PLAN_SHAPE_H

#include "base/err.h"

#include <stddef.h>

/* Sizes of a mean block, which may be fractions if blocks differ, and numbers
 * of parameters by part. */
struct shape {
    double V, d, L;    /* vocabulary, width, blocks */
    double H, KV, D;   /* query heads, key/value heads; head size */
    double mlp;        /* channels of the MLP that all tokens use */
    double gates;      /* matrices of d x mlp: 3 (gated) or 2 */
    double experts;    /* experts of a block; 0: none */
    double active;     /* experts that a token uses */
    double expert_mlp; /* channels of an expert */
    double groups;     /* groups of experts; 0: no groups */
    double group_top;  /* most groups that a token's experts are in */
    double dropout;    /* 1: dropout in attention and twice a block, as
                               * in GPT-2 */
    double window;     /* tokens of the sliding window; 0: none */
    double windowed;   /* share of blocks with a sliding window */
    double tied;       /* 1: the head is the embedding */
    double attention;  /* parameters of a block's attention */
    double dense;      /* parameters of a block's MLP and router */
    double expert;     /* parameters of one expert of a block */
    double vectors;    /* parameters of a block's norms and biases */
    double positions;  /* parameters of the embedding of positions */
    double outer;      /* parameters of norms and biases outside of
                               * blocks */
};

/* Read the shape at path.  -1 and *e. */
int shape_open(struct shape *s, const char *path, struct err *e);

/* Parameters of the model. */
double shape_params(const struct shape *s);
/* Parameters of the model that a token uses. */
double shape_active(const struct shape *s);
/* Parameters of a block with all its experts. */
double shape_block(const struct shape *s);
/* Parameters of a block that multiply a token's state. */
double shape_products(const struct shape *s);

#endif
