/*
 * The rules that the messages of a stream follow (retort-stream(5)): order of
 * kinds, seq, chain, ids below the vocabulary, documents whose lengths add up
 * to the number of ids, an `end` that matches everything before it.  Readers of
 * streams, writers of shards and set_check check all messages in order with a
 * struct msg_rules.
 */
#ifndef MSG_RULES_H
#define MSG_RULES_H

#include "msg/msg.h"

#include <xxhash.h>

struct msg_rules {
    struct stream_info info; /* valid after the first message */
    uint64_t next;           /* seq of the next message */
    uint64_t tokens;         /* tokens so far; in a resumed stream, also the
                              * tokens before next_seq */
    struct chain h;          /* H of the last message */
    /* Messages seen so far.  begun 1: the `stream` message; begun 2: the whole
     * preamble of a resumed stream; teacher 1: a `teacher` message; body 1: a
     * docs or batch message; ended 1: `end`. */
    int begun, teacher, body, ended;
    uint64_t vocab;    /* the teacher's vocabulary; 0: unknown */
    struct st_out out; /* the `end` message that the stream must have */
    XXH3_state_t *x;
};
void msg_rules_init(struct msg_rules *r);
void msg_rules_release(struct msg_rules *r);
/* Set m->kind and m->seq from m->st, and check m.  *tokens gets the number of
 * tokens in m, and r->h becomes H(m).  -1 and EX_INPUT; for an `abort`, *e
 * holds its reason. */
int msg_rules_check(struct msg_rules *r, struct msg *m, uint64_t *tokens,
    struct err *e);
/* Call after checking the `stream` message, and no other, to continue a stream
 * that is stored up to `end`.  The next message takes the place of `end`. */
int msg_rules_go_on(struct msg_rules *r, const struct msg *end, struct err *e);
/* Check that every element of a U16 or U32 tensor is < vocab. */
int msg_check_ids(const struct st_tensor *ids, size_t vocab, struct err *e);
/* Check the tensors of a docs message: the documents' lengths are not 0 and add
 * up to the number of ids; sources are < nsource, ids < vocab. */
int msg_check_docs(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e);
/* Write the whole `end` message into o. */
void msg_end_fill(struct st_out *o, uint64_t seq, const struct chain *before,
    uint64_t tokens);

#endif
