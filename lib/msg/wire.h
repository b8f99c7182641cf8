/*
 * What the parts of msg and shardset share; not for programs.
 */
#ifndef MSG_WIRE_H
#define MSG_WIRE_H

#include "msg/msg.h"

#include <xxhash.h>

/* The header of a message may be this long, bytes. */
#define MSG_HEADER_MAX ((size_t)1 << 20)
/* A message may be this long: a guard against a stream without sense. */
#define MSG_MAX ((uint64_t)1 << 40)
#define MSG_ALIGN 64            /* of the data in memory */

enum msg_kind msg_kind_of(const char *name);
/* XXH3-128 of p[n], canonical. */
void chain_of(struct chain *c, const void *p, size_t n);
/* The same over pieces, the chain before it first (NULL: none). */
void chain_begin(XXH3_state_t *x, const struct chain *before);
void chain_end(XXH3_state_t *x, struct chain *c);
/* A whole decimal number without sign or leading zero; 0, or -1. */
int msg_number(const char *s, uint64_t *r);
/* Every element of a U16 or U32 tensor is < vocab, or an error. */
int msg_check_ids(const struct st_tensor *ids, size_t vocab, struct err *e);
/* Tensors of a docs message: lengths fill ids, no document is empty, sources
 * are < nsource, ids < vocab. */
int msg_check_docs(const struct st *s, size_t vocab, size_t nsource,
    uint64_t *tokens, struct err *e);
/* How long is the message at the start of p[n]?  Known in steps:
 * *need bytes must be there to know more, or are the whole message.  -1 and
 * EX_INPUT: no message begins here. */
int msg_size(const void *p, size_t n, size_t *need, struct err *e);
/* Tokens in m, those of padding not counted. */
uint64_t msg_tokens(const struct msg *m);
/* The whole `end` message into o. */
void msg_end_fill(struct st_out *o, uint64_t seq, const struct chain *before,
    uint64_t tokens);
/* Addresses that are no folder: -1, EX_USAGE. */
int msg_refuse_address(const char *addr, struct err *e);

/* A buffer whose message data is aligned: raw begins pad bytes into it. */
static inline size_t
msg_pad(size_t header)
{
    return (MSG_ALIGN - (8 + header) % MSG_ALIGN) % MSG_ALIGN;
}

/*
 * The rules that hold between messages, checked one after the other by
 * readers, by shard writers and by set_check.
 */
struct msg_rules {
    struct stream_info info;    /* after the first message */
    uint64_t next;              /* seq expected */
    uint64_t tokens;            /* so far, those before a resumed one too */
    struct chain h;             /* H of the message before */
    int begun, teacher, body, ended;
    uint64_t vocab;             /* the teacher's; 0: not said */
    struct st_out out;          /* the `end` message as it should be */
    XXH3_state_t *x;
};
void msg_rules_init(struct msg_rules *r);
void msg_rules_release(struct msg_rules *r);
/* Fill m->kind and m->seq from m->st, and check m; -1 and EX_INPUT (or the
 * text of an `abort`).  *tokens: those in m.  r->h becomes H(m). */
int msg_rules_check(struct msg_rules *r, struct msg *m, uint64_t *tokens,
    struct err *e);
/* Only the `stream` message has been checked: go on where the `end` message
 * stands, in its place. */
int msg_rules_go_on(struct msg_rules *r, const struct msg *end,
    struct err *e);

#endif
