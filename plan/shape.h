/*
 * The shape of a model, without its weights, read from a GGUF, a folder, a
 * config.json or a shipped shape (plan/models).  lib/model reads every model of
 * its families; a file of sizes describes any other, such as an OPT.
 *
 * All numbers of parameters are those of the model that is trained.  Files of a
 * model that prune cut may have more, as they pad its blocks with zeros to one
 * width.
 */
#ifndef PLAN_SHAPE_H
#define PLAN_SHAPE_H

#include "base/err.h"

#include <jansson.h>

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
/* Set *s from j, a file of sizes, which loses the keys that are read.  -1 and
 * *e: a key is missing or not known, or the sizes are impossible. */
int shape_from_sizes(struct shape *s, json_t *j, struct err *e);
/* Compare the shape with model.safetensors.index.json, or the header of
 * model.safetensors, in the folder dir, whose config.json is j.  Nothing is
 * compared if there is neither, if weights are quantised, if the files have
 * more than the text model or blocks that predict further tokens (DeepSeek-V3),
 * or if prune cut the model.  -1 and *e: the numbers of parameters differ by
 * more than 1 %, also if a tied head is counted twice. */
int stored_check(const struct shape *s, const json_t *j, const char *dir,
    struct err *e);

/* Parameters of the model. */
double shape_params(const struct shape *s);
/* Parameters of the model that a token uses. */
double shape_active(const struct shape *s);
/* Parameters of a block with all its experts. */
double shape_block(const struct shape *s);
/* Parameters of a block that multiply a token's state. */
double shape_products(const struct shape *s);

#endif
