/*
 * What a teacher says of a batch's tokens, from the message to the loss.  It
 * tells the distribution of the next token in one of three ways, its kind, and
 * may show the outputs of its blocks.  The tensors stay in the message, of
 * which a struct said is a view; a slice of its rows is one too.
 *
 * With p_v the teacher's probabilities at temperature tau:
 *
 * SAID_FINAL  the state after the final norm; the teacher's head makes the
 *     logits of it, so any tau will do.
 * SAID_TOP  the k most probable tokens: p_i = exp((logp_i + lse[0])/tau -
 *     lse[1]), and the rest P = 1 - sum p_i of all others together.  KL is that
 *     of these k+1 outcomes,
 *       sum p_i log(p_i/q_i) + P log(P/Q),   Q = sum of q over the others,
 *     at most that of the whole distributions.  When rounding, or k = V, leaves
 *     nothing for the rest, P = 0 and the p_i are divided by their sum.
 * SAID_DRAWS  tokens drawn k times by chance: token i is the share count_i / k;
 *     count_i = 0 ends a row, ids past it count for nothing.  KL is self - sum
 *     share_i log q_i.  Where the shares' expectations are p, its expectation,
 *     and that of its gradient, are those of the whole distributions
 *     (arXiv:2503.16870).
 */
#ifndef FORMAT_SAID_H
#define FORMAT_SAID_H

#include "format/safetensors.h"

enum said_kind { SAID_NOTHING, SAID_FINAL, SAID_TOP, SAID_DRAWS };

/* [B,T,width], at any address. */
struct said_tensor {
    const unsigned char *data;
    enum dtype dtype;
    size_t width;
};

struct said {
    /* what is wanted of each batch */
    enum said_kind kind;
    size_t width;         /* of the final state; or k */
    const size_t *block;  /* [nblock] whose outputs; the caller's */
    size_t nblock, depth; /* depth: numbers of one output */
    size_t vocab;         /* distributions are over ids below it alone; 0: over
                           * all */
    /* what it holds, from row `row` on */
    size_t T, row;
    struct said_tensor part[3]; /* see below; none for SAID_NOTHING */
    struct said_tensor *hidden; /* [nblock] BF16 or F32, all alike */
};

/* The tensors of each kind. */
enum {
    SAID_STATE = 0, /* SAID_FINAL: BF16 or F32 [B,T,d] */
    SAID_IDS = 0,   /* SAID_TOP: U32 [B,T,k] < V, different in a token */
    SAID_LOGP = 1,  /*   F16 or F32 [B,T,k] at temperature 1 */
    SAID_LSE = 2,   /*   F32 [B,T,2] of the logits z, of z/tau */
    SAID_DRAWN = 0, /* SAID_DRAWS: U32 [B,T,k] < V, rising */
    SAID_COUNT = 1, /*   U8 or U16 [B,T,k] */
    SAID_SELF = 2   /*   F32 [B,T] sum p log p, nats */
};

/* Numbers a token of this kind in the batch s (d or k); 0: it has none. */
size_t said_width(const struct st *s, enum said_kind k);
/* Does s hold the output of this block?  NULL if not. */
const struct st_tensor *said_hidden(const struct st *s, size_t block);
/* Point *x at what it wants of s, which has passed the rules of messages (see
 * msg/batch.h).  -1: s has not what earlier batches had. */
int said_read(struct said *x, const struct st *s, struct err *e);
void said_release(struct said *x); /* hidden */
/* The same from row b0 on; nothing of it is to be released. */
struct said said_rows(const struct said *x, size_t b0);
/* Token i = b*T + t of x, in one of its tensors. */
const unsigned char *said_at(const struct said *x, const struct said_tensor *t,
    size_t i);

#endif
