/*
 * A `batch` message unpacked for a model: ids widened to 32 bits, and for
 * every token where its piece begins and whether its prediction is scored.
 * What a teacher says of tokens is checked in batch_top.c.
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
    uint32_t *ids;        /* [B,T]; padding is 0 */
    uint32_t *first;      /* [B,T] place in the row of the first token of
                             * the token's piece; BATCH_PAD for padding */
    uint8_t *scored;      /* [B,T] 1: the prediction made at t counts: t+1
                             * is in the same piece and in the loss mask */
    size_t *row_scored;   /* [B] */
    size_t nscored, ntok; /* sums; ntok without padding */
    size_t P;             /* pieces, row by row */
    uint32_t *piece_row, *piece_len, *piece_off;
    uint16_t *piece_source;
    uint64_t *piece_key;
    size_t cap_bt, cap_p;
};

/* Unpack m (kind batch), which msg_read or batch_check has passed; memory in
 * *b is reused; { 0 } is empty. */
void batch_unpack(struct batch *b, const struct msg *m);
/* Check shapes, ids < vocab, sources < nsource (0: any), and that pieces fill
 * their rows in order.  *tokens (may be NULL): tokens without padding. */
int batch_check(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e);
/* A teacher's top tokens, if a batch (batch_check has passed it) holds any:
 * shapes and types; ids < vocab, which is the teacher's (0: any), and
 * different; log-probabilities finite, at most 0, not rising; log-sum-exps
 * finite.  1; 0: there are none; -1. */
int batch_check_top(const struct st *s, size_t vocab, struct err *e);
/* Check tokens drawn by chance, if a batch holds any: the ids drawn for a token
 * rise, their counts add up to the number of draws, and nothing follows.
 * Returns as batch_check_top. */
int batch_check_sample(const struct st *s, size_t vocab, struct err *e);
void batch_release(struct batch *b);

#endif
