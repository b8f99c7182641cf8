/*
 * Needs of a run, known before its first step: parameters, memory by
 * part, floating-point operations a token.  student prints it and refuses
 * what cannot fit; plan(1) prints it for a configuration.
 */
#ifndef TRAIN_PLAN_H
#define TRAIN_PLAN_H

#include "model/backward.h"
#include "train/step.h"

#include <stddef.h>

struct plan {
    size_t params;
    size_t program; /* bytes of the process beside the rest */
    size_t weights, gradients, moments; /* bytes */
    size_t buffers;      /* bytes for gathered parameters and gradients */
    size_t work;         /* bytes of activations, head tiles, scratch */
    size_t teacher_head; /* copy of the teacher's head */
    size_t input;        /* messages in memory */
    size_t total;
    double flop; /* a token, student forward and backward */
};

/* Sizes of a run that its model does not tell. */
struct plan_load {
    size_t T;           /* tokens of a row */
    size_t tokens;      /* of a step */
    size_t head;        /* bytes of a teacher's head held in memory */
    size_t input;       /* bytes of messages */
    size_t judge;       /* step_judge_bytes, or 0 */
    size_t program;     /* as above */
    size_t ranks;       /* ranks_bytes, or 0 */
    size_t buffers;     /* param_shards_bytes, or 0 */
    enum dtype moments; /* type of the optimiser's moments */
    size_t parts;       /* ranks that the moments are split over; 0, 1: none */
};
/* Fill *p for a model and its step.  Making these only maps their arenas, and
 * touches no memory. */
void plan_make(struct plan *p, const struct tmodel *t, const struct step *s,
    const struct plan_load *l);

/*
 * Operations a token in rows of T.  Forward: 2 a parameter used in a product; 4
 * H D a key of attention (the block's own H), causal and within the block's
 * window, softmax and rotation left out; 4 a number that is normed (its square
 * added, twice scaled); 1 a bias.  Backward: twice the products; 2.5 times
 * attention, scores being made again; 12 a number normed (8 for the gradient at
 * its input, 4 for its weight's); 1 a bias.  b [L] or NULL as in config_params.
 */
double plan_flop_forward(const struct config *c, const struct block_shape *b,
    size_t T);
double plan_flop_train(const struct config *c, const struct block_shape *b,
    size_t T);

/* Rows at a time of messages of so many rows of T tokens, when `micro` are
 * wanted (0: one of 512 tokens or more, else as many as 1024 tokens hold). */
size_t plan_micro(size_t micro, size_t rows, size_t T);

/*
 * Memory of a teacher.  A batch that is large enough reads the weights
 * one block after another and lets go of each: its cost, to find the pages
 * again, is then below a hundredth of the products.
 */
enum { PLAN_WINDOW_TOKENS = 1024 };
/* Bytes of m's stored weights that are in memory at once for batches of so many
 * tokens: those of the largest block (or, if head, of the head where that is
 * larger), or of all blocks and the norm (and the head). */
size_t plan_window(const struct model *m, size_t tokens, int head);
/* Rows at a time of batches of so many rows of T tokens, when `micro` are
 * wanted (0: as many as 1024 tokens hold, at least one). */
size_t plan_teacher_micro(size_t micro, size_t rows, size_t T);
/* States of so many tokens as the teacher has them, fp32. */
size_t plan_states(const struct model *m, size_t tokens);

/* Bytes that a program will have beside the planned ones, if it has `now`
 * before its first step: its threads copy the matrices they multiply. */
size_t plan_program(size_t now, size_t threads);

/* Note the plan in one line. */
void plan_note(const struct plan *p);
/* Bytes this process may use: the smaller of the machine's memory and the
 * cgroups' limits. */
size_t plan_limit(void);
/* -1 and *e (EX_SYS) when a total exceeds the limit; how: what to use then. */
int plan_fits(size_t total, const char *how, struct err *e);

#endif
