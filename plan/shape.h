/*
 * A model by its shape; weights are not read.  Of a GGUF, a folder, a
 * config.json or the name of a shipped shape (plan/models).  A config.json of a
 * family that student does not train is read as well, a mixture of experts too,
 * by the keys that transformers gives such sizes: only sizes matter here.
 */
#ifndef PLAN_SHAPE_H
#define PLAN_SHAPE_H

#include "base/err.h"

#include <stddef.h>

/* Sizes of a mean block: where blocks differ they need not be whole numbers.
 * Parameters by part; "active" are those that a token meets. */
struct shape {
    double V, d, L;          /* vocabulary, width, blocks */
    double H, KV, D;         /* heads with queries, with keys; head size */
    double mlp;              /* channels of the MLP that all tokens meet */
    double gates;            /* matrices of d x mlp: 3 (gated) or 2 */
    double experts, active;  /* 0: no mixture; those a token meets */
    double expert_mlp;       /* channels of one */
    double dropout;          /* 1: of attention and twice a block, as GPT-2 */
    double window, windowed; /* tokens attended to in this share of blocks */
    double tied;             /* 1: the head is the embedding */
    double attention, dense; /* parameters a block: attention, MLP and router */
    double expert;           /* of one expert of a block */
    double vectors;          /* norms and biases of a block */
};

/* -1 and *e. */
int shape_open(struct shape *s, const char *path, struct err *e);

/* Parameters of all, of what a token meets, and of these without the
 * embedding, which is looked up. */
double shape_params(const struct shape *s);
double shape_active(const struct shape *s);
/* Of a block, all experts; of products that a token goes through in it. */
double shape_block(const struct shape *s);
double shape_products(const struct shape *s);

#endif
