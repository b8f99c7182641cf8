/*
 * A `batch` message unpacked for a model: ids widened to 32 bits; for each
 * token, where its piece (a document's tokens in one row) begins and whether
 * its prediction is scored.  batch_top.c checks the teacher's tensors.
 */
#ifndef MSG_BATCH_H
#define MSG_BATCH_H

#include "base/err.h"
#include "msg/msg.h"

#include <stddef.h>
#include <stdint.h>

#define BATCH_PAD UINT32_MAX

struct batch {
    size_t B, T;
    uint32_t *ids;      /* [B,T]; padding is 0 */
    uint32_t *first;    /* [B,T] column of the first token of the piece that
                           * the token is in; BATCH_PAD for padding */
    uint8_t *scored;    /* [B,T] 1: the prediction made at t is scored: token
                           * t+1 is in the same piece and in the loss mask */
    size_t *row_scored; /* [B] number of scored predictions in each row */
    size_t nscored;     /* number of scored predictions */
    int masked;         /* 1: the message has a loss mask */
    size_t ntok;        /* number of tokens, without padding */
    size_t P;           /* number of pieces; they are sorted by row */
    uint32_t *piece_row, *piece_len, *piece_off; /* [P] each */
    uint16_t *piece_source;
    uint64_t *piece_key;
    size_t cap_bt; /* tokens for which room is allocated */
    size_t cap_p;  /* pieces for which room is allocated */
};

/* Unpack the `batch` message m, which msg_read or batch_check has accepted,
 * into *b.  *b is { 0 } at first; its memory is reused. */
void batch_unpack(struct batch *b, const struct msg *m);
/* Check shapes, that ids are < vocab and sources < nsource (0: any), and that
 * the pieces are in order of row and fit into their rows.  *tokens (may be
 * NULL) gets the number of tokens without padding. */
int batch_check(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e);
/*
 * Check the teacher's top tokens of a batch that batch_check has accepted:
 *   shapes and types;
 *   ids: distinct for each token, and below the teacher's vocab (0: any);
 *   log-probabilities: finite, at most 0, not rising;
 *   log-sum-exps: finite.
 * Targets of another tokenizer have teacher.kind and teacher.rest instead of
 * log-sum-exps: kinds are at most 2, rests finite and at most 0, and entries
 * that a kind leaves out are 0.
 * 1: all hold; 0: the batch has no top tokens; -1 and *e.
 */
int batch_check_top(const struct st *s, size_t vocab, struct err *e);
/* Check the teacher's sampled tokens of a batch.  For each token the ids rise;
 * their counts add up to the number of draws, or to 0; unused entries are 0 and
 * come last.  Returns as batch_check_top. */
int batch_check_sample(const struct st *s, size_t vocab, struct err *e);
void batch_release(struct batch *b);

#endif
