/*
 * The plan of a run, known before its first step: parameters, memory by part,
 * floating-point operations for each token.  student prints it and refuses a
 * run that cannot fit; plan(1) prints it for a configuration.
 */
#ifndef TRAIN_PLAN_H
#define TRAIN_PLAN_H

#include "model/pass/backward.h"
#include "train/step.h"

#include <stddef.h>

struct plan {
    size_t params;
    size_t program; /* bytes of the process without the members below */
    size_t weights, gradients, moments; /* bytes */
    size_t buffers;      /* bytes for gathered parameters and gradients */
    size_t work;         /* bytes of activations, head tiles, scratch */
    size_t teacher_head; /* bytes of a copy of the teacher's head */
    size_t input;        /* bytes of messages in memory */
    size_t total;
    double flop; /* operations of the student for a token, both passes */
};

/* Sizes of a run that do not follow from its model. */
struct plan_load {
    size_t T;           /* tokens of a row */
    size_t tokens;      /* tokens of a step */
    size_t head;        /* bytes of a teacher's head held in memory */
    size_t input;       /* bytes of messages */
    size_t judge;       /* step_judge_bytes, or 0 */
    size_t program;     /* bytes of the process besides the other members */
    size_t ranks;       /* ranks_bytes, or 0 */
    size_t buffers;     /* param_shards_bytes, or 0 */
    enum dtype moments; /* type of the optimiser's moments */
    int average;        /* 1: the run averages the parameters, too */
    size_t parts;       /* ranks that the moments are split over; 0, 1: none */
};
/* Fill *p for a model and its step.  Neither needs to have been run: making
 * them maps their arenas without touching memory. */
void plan_make(struct plan *p, const struct tmodel *t, const struct step *s,
    const struct plan_load *l);

/*
 * Operations for a token in rows of T.  Softmax and rotation are not counted.
 * b [L] or NULL: as in config_params.
 *
 * Forward:
 * - 2 for each parameter in a product
 * - 4 H D for each key that a query attends to (causal, within the block's
 *   window; H of the block)
 * - 8 for each number of the states of a linear block
 * - 4 for each number normed: square, add, two scalings
 * - 1 for each bias
 * Backward:
 * - twice the products of the forward pass
 * - 2.5 times the attention and states of the forward pass, as scores are
 *   recomputed
 * - 12 for each number normed: 8 for the gradient at its input, 4 for that of
 *   its weight
 * - 1 for each bias
 */
double plan_flop_forward(const struct config *c, const struct block_shape *b,
    size_t T);
double plan_flop_train(const struct config *c, const struct block_shape *b,
    size_t T);

/* Shall a teacher hold the panels of all its blocks (fwd_hold)?  Yes if they
 * take at most a sixteenth of the machine's memory; not with products in fp32,
 * which have none. */
int plan_holds(const struct model *m);

/* Rows of a pass, at most `rows`, for messages of `rows` rows of T tokens.
 * micro: the number wanted; 0: as many as fit 1024 tokens, at least one, but
 * with products in fp32 one if T >= 512. */
size_t plan_micro(size_t micro, size_t rows, size_t T);

/*
 * Memory of a teacher.  For batches of at least PLAN_WINDOW_TOKENS tokens,
 * weights are read block by block, and a block's pages are dropped after its
 * pass.  Mapping them again takes less than a hundredth of the products' time.
 */
enum { PLAN_WINDOW_TOKENS = 1024 };
/* Bytes of m's stored weights in memory at once, for batches of `tokens`
 * tokens.  PLAN_WINDOW_TOKENS or more: the largest block, or, with `head`, the
 * head if that is larger.  Fewer: all blocks, the norm and, with `head`, the
 * head. */
size_t plan_window(const struct model *m, size_t tokens, int head);
/* Rows of a teacher's pass, at most `rows`, for batches of `rows` rows of T
 * tokens.  micro: the number wanted; 0: as many as fit 1024 tokens, at least
 * one. */
size_t plan_teacher_micro(size_t micro, size_t rows, size_t T);
/* Bytes of the teacher's states of `tokens` tokens, in fp32. */
size_t plan_states(const struct model *m, size_t tokens);

/* Bytes that a program will have besides the planned ones.  now: its bytes
 * before the first step.  Threads add memory into which they copy parts of the
 * matrices that they multiply. */
size_t plan_program(size_t now, size_t threads);

/* Print the plan as a note of one line. */
void plan_note(const struct plan *p);
/* Bytes this process may use: those of the machine, or of its control group. */
size_t plan_limit(void);
/* Check that total is within plan_limit.  -1 and *e (EX_SYS): it is not.  how:
 * what to use instead, for the error's last words. */
int plan_fits(size_t total, const char *how, struct err *e);

#endif
