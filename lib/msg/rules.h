/*
 * The rules that the messages of a stream follow (retort-stream(5)): order of
 * kinds, seq, chain, ids within the vocabulary, documents that fill their ids,
 * an `end` that matches everything before it.  Readers of streams, writers of
 * shards and set_check check all messages in order with a struct msg_rules.
 */
#ifndef MSG_RULES_H
#define MSG_RULES_H

#include "msg/msg.h"

#include <xxhash.h>

struct msg_rules {
    struct stream_info info; /* valid after the first message */
    uint64_t next;           /* seq of the next message */
    uint64_t tokens;         /* tokens so far, including those before
                              * next_seq */
    struct chain h;          /* H of the last message */
    /* Seen so far: the first message (2: and the preamble of a resumed stream
     * is over), a teacher, docs or batches, the end. */
    int begun, teacher, body, ended;
    uint64_t vocab;    /* the teacher's vocabulary; 0: unknown */
    struct st_out out; /* the `end` message that is expected */
    XXH3_state_t *x;
};
void msg_rules_init(struct msg_rules *r);
void msg_rules_release(struct msg_rules *r);
/* Fill m->kind and m->seq from m->st, and check m.  *tokens gets its number of
 * tokens, and r->h becomes H(m).  -1 and EX_INPUT, or the reason in an
 * `abort`. */
int msg_rules_check(struct msg_rules *r, struct msg *m, uint64_t *tokens,
    struct err *e);
/* Call when only the `stream` message has been checked: continue a stream whose
 * messages up to `end` are stored.  The next message takes the place of
 * `end`. */
int msg_rules_go_on(struct msg_rules *r, const struct msg *end, struct err *e);
/* Check that every element of a U16 or U32 tensor is < vocab. */
int msg_check_ids(const struct st_tensor *ids, size_t vocab, struct err *e);
/* Check the tensors of a docs message: lengths fill ids, no document is empty,
 * sources < nsource, ids < vocab. */
int msg_check_docs(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e);
/* Write the whole `end` message into o. */
void msg_end_fill(struct st_out *o, uint64_t seq, const struct chain *before,
    uint64_t tokens);

#endif
