/*
 * Targets of distillation: the numbers that a teacher sends with each token of
 * a batch.  They describe the distribution of the next token in one of four
 * ways (the kind), and may include the outputs of the teacher's blocks.  The
 * tensors stay in the message; struct targets is a view of all or some of their
 * rows.
 *
 * With p_v the teacher's and q_v the student's probabilities at temperature
 * tau:
 *
 * TARGETS_FINAL  the state after the final norm.  The logits are computed from
 *     it with the teacher's head, so tau may be any.
 * TARGETS_TOP  the k most probable tokens: p_i = exp((logp_i + lse[0])/tau -
 *     lse[1]), and P = 1 - sum p_i of all other tokens together.  The KL is
 *     taken over these k+1 outcomes,
 *       sum p_i log(p_i/q_i) + P log(P/Q),   Q = 1 - sum q_i,
 *     and is at most the KL of the whole distributions.  When rounding, or k =
 *     V, makes P zero or less, P is 0 and the p_i are divided by their sum.
 * TARGETS_SHARED  from a teacher of another tokenizer, at temperature 1: n
 *     entries (0, 1 or k, by the token's kind) with p_i = exp(logp_i), and P =
 *     exp(rest); all are divided by their sum.  The KL is as for TARGETS_TOP;
 *     if n = 0, it is 0.
 * TARGETS_DRAWS  k random draws: token i has the share count_i / k; count_i = 0
 *     ends the list, and ids after it are ignored.  The KL is TARGETS_SELF -
 *     sum share_i log q_i.  If the expected shares are p, the expected KL and
 *     gradient are those of the whole distributions (arXiv:2503.16870).
 */
#ifndef FORMAT_TARGETS_H
#define FORMAT_TARGETS_H

#include "format/safetensors.h"

enum targets_kind {
    TARGETS_NONE,
    TARGETS_FINAL,
    TARGETS_TOP,
    TARGETS_SHARED,
    TARGETS_DRAWS
};

enum { TARGETS_PARTS = 4 };

/* A tensor [B,T,width]; data need not be aligned. */
struct targets_tensor {
    const unsigned char *data;
    enum dtype dtype;
    size_t width;
};

struct targets {
    /* set by the caller: the targets to read from each batch */
    enum targets_kind kind;
    size_t width;         /* numbers per token: the final state's, or k */
    const size_t *block;  /* [nblock] blocks whose outputs to read; borrowed */
    size_t nblock, depth; /* depth: numbers per token in a block's output */
    size_t vocab;         /* ids < vocab have probabilities; 0: all ids */
    double cap; /* TARGETS_FINAL: logits z become cap tanh(z/cap); 0: they
                 * stay */
    /* set by targets_read; the view begins at row `row` */
    size_t T, row;
    struct targets_tensor part[TARGETS_PARTS]; /* indices: enum below; some
                                                * kinds use fewer */
    struct targets_tensor *hidden; /* [nblock] BF16 or F32, all of one type */
    struct targets_tensor aligned; /* U8 [B,T] teacher.kind: at tokens where it
                                    * is not 0, blocks' outputs are compared;
                                    * data NULL: at all tokens */
};

/* The tensors of each kind. */
enum {
    TARGETS_STATE = 0,   /* TARGETS_FINAL: BF16 or F32 [B,T,d] */
    TARGETS_IDS = 0,     /* TARGETS_TOP, TARGETS_SHARED: U32 [B,T,k] < V, no id
                        * twice in a token */
    TARGETS_LOGP = 1,    /*   F16 or F32 [B,T,k] at temperature 1 */
    TARGETS_LSE = 2,     /* TARGETS_TOP: F32 [B,T,2] log sum exp of the logits
                          * z, and of z/tau */
    TARGETS_REST = 2,    /* TARGETS_SHARED: F32 [B,T] log P */
    TARGETS_ENTRIES = 3, /*   U8 [B,T] kind; kinds 0, 1, 2 have 0, k, 1
                          * entries */
    TARGETS_DRAWN = 0,   /* TARGETS_DRAWS: U32 [B,T,k] < V, rising */
    TARGETS_COUNT = 1,   /*   U8 or U16 [B,T,k] */
    TARGETS_SELF = 2     /*   F32 [B,T] sum p log p, nats */
};

/* Numbers per token (d or k) of the targets of kind k in the batch s; 0: s has
 * no such targets. */
size_t targets_width(const struct st *s, enum targets_kind k);
/* The tensor in s with that block's output, or NULL. */
const struct st_tensor *targets_hidden(const struct st *s, size_t block);
/* Set the view x to the tensors of s, which has passed the rules of messages
 * (msg/batch.h).  -1: a tensor that earlier batches had is missing, or has
 * another shape. */
int targets_read(struct targets *x, const struct st *s, struct err *e);
void targets_release(struct targets *x); /* frees x->hidden */
/* The view of x's rows from b0 on; do not release it. */
struct targets targets_rows(const struct targets *x, size_t b0);
/* Are the outputs of blocks compared at token i? */
int targets_aligned(const struct targets *x, size_t i);
/* The address in tensor t of x of token i, counted from the view's first row:
 * i = row * T + column. */
const unsigned char *targets_at(const struct targets *x,
    const struct targets_tensor *t, size_t i);

#endif
