/*
 * The shape of a model, without its weights: of a GGUF, a folder, a config.json
 * or a shipped shape (plan/models).  Only sizes matter here, so a config.json
 * of a family that student does not train is read too, mixtures of experts
 * among them, by the keys that transformers has for sizes.
 */
#ifndef PLAN_SHAPE_H
#define PLAN_SHAPE_H

#include "base/err.h"

#include <stddef.h>

/* Sizes of a mean block, not whole numbers where blocks differ, and parameters
 * by part. */
struct shape {
    double V, d, L;          /* vocabulary, width, blocks */
    double H, KV, D;         /* heads with queries, with keys; head size */
    double mlp;              /* channels of the MLP that all tokens meet */
    double gates;            /* matrices of d x mlp: 3 (gated) or 2 */
    double experts, active;  /* experts, and how many a token meets; 0: none */
    double expert_mlp;       /* channels of an expert */
    double dropout;          /* 1: in attention and twice a block, as GPT-2 */
    double window, windowed; /* tokens of the window; share of blocks with it */
    double tied;             /* 1: the head is the embedding */
    double attention, dense; /* parameters a block: attention, MLP and router */
    double expert;           /* parameters of one expert of a block */
    double vectors;          /* parameters of a block's norms and biases */
};

/* Read the shape at path.  -1 and *e. */
int shape_open(struct shape *s, const char *path, struct err *e);

/* Parameters of the model, and those that a token meets. */
double shape_params(const struct shape *s);
double shape_active(const struct shape *s);
/* Parameters of a block with all experts, and those that multiply a token. */
double shape_block(const struct shape *s);
double shape_products(const struct shape *s);

#endif
