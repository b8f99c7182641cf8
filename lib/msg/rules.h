/*
 * The rules that messages of a stream keep (retort-stream(5)): order of kinds,
 * seq, chain, ids within the vocabulary, documents that fill their ids, an
 * `end` that vouches for everything before it.  Readers of streams, writers of
 * shards and set_check hold every message against one struct msg_rules, in
 * order.
 */
#ifndef MSG_RULES_H
#define MSG_RULES_H

#include "msg/msg.h"

#include <xxhash.h>

struct msg_rules {
    struct stream_info info; /* after the first message */
    uint64_t next;           /* seq expected */
    uint64_t tokens;         /* so far, those before a resumed one too */
    struct chain h;          /* H of the message before */
    int begun, teacher, body, ended;
    uint64_t vocab;    /* the teacher's; 0: unknown */
    struct st_out out; /* the `end` message as it should be */
    XXH3_state_t *x;
};
void msg_rules_init(struct msg_rules *r);
void msg_rules_release(struct msg_rules *r);
/* Fill m->kind and m->seq from m->st, and check m; -1 and EX_INPUT (or the
 * text of an `abort`).  *tokens: those in m.  r->h becomes H(m). */
int msg_rules_check(struct msg_rules *r, struct msg *m, uint64_t *tokens,
    struct err *e);
/* Call after the `stream` message alone: skip all messages up to `end`, whose
 * place the next message takes. */
int msg_rules_go_on(struct msg_rules *r, const struct msg *end, struct err *e);
/* Every element of a U16 or U32 tensor is < vocab, or an error. */
int msg_check_ids(const struct st_tensor *ids, size_t vocab, struct err *e);
/* Tensors of a docs message: lengths fill ids, no document is empty, sources
 * are < nsource, ids < vocab. */
int msg_check_docs(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e);
/* Write the whole `end` message into o. */
void msg_end_fill(struct st_out *o, uint64_t seq, const struct chain *before,
    uint64_t tokens);

#endif
