/*
 * Messages as they lie in a stream, one level below msg.h: how long they may be
 * and are, the chain of hashes that joins them, and the spelling of kinds and
 * numbers in their metadata.  For code that stores, finds or hashes messages by
 * itself, as lib/shard does; who reads and writes streams needs msg.h only.
 * The functions are in msg.c.
 */
#ifndef MSG_WIRE_H
#define MSG_WIRE_H

#include "msg/msg.h"

#include <xxhash.h>

/* Longest header of a message, bytes. */
#define MSG_HEADER_MAX ((size_t)1 << 20)
/* Longest message, against nonsense in a damaged stream. */
#define MSG_MAX ((uint64_t)1 << 40)
#define MSG_ALIGN 64 /* of the data in memory */

enum msg_kind msg_kind_of(const char *name);
/* XXH3-128 of p[n], canonical. */
void chain_of(struct chain *c, const void *p, size_t n);
/* Hash several pieces, after the chain before them (NULL: none). */
void chain_begin(XXH3_state_t *x, const struct chain *before);
void chain_end(XXH3_state_t *x, struct chain *c);
/* A whole decimal number without sign or leading zero; 0, or -1. */
int msg_number(const char *s, uint64_t *r);
/* How long is the message at the start of p[n]?  Known in steps:
 * *need bytes must be there to know more, or are the whole message.  -1 and
 * EX_INPUT: no message begins here. */
int msg_size(const void *p, size_t n, size_t *need, struct err *e);
/* Tokens in m, those of padding not counted. */
uint64_t msg_tokens(const struct msg *m);
/* A document's key: XXH3-64 of source name, NUL, input name, NUL, record as 8
 * bytes, the smallest first. */
uint64_t msg_doc_key(const char *source, const char *input, uint64_t record);
/* Metadata of a message of that kind that its writer sets: never copied. */
int msg_is_own_key(enum msg_kind k, const char *key);
/* Refuse shm:, unix: and tcp: where a folder is needed: -1 and EX_USAGE. */
int msg_refuse_address(const char *addr, struct err *e);

/* Put a message this many bytes behind an aligned address, and its data is
 * aligned too.  header: bytes of the JSON header. */
static inline size_t
msg_pad(size_t header)
{
    return (MSG_ALIGN - (8 + header) % MSG_ALIGN) % MSG_ALIGN;
}

#endif
