/*
 * Messages as bytes of a stream, one level below msg.h: lengths, the chain of
 * hashes, and how metadata spells kinds and numbers.  For code that stores,
 * finds or hashes messages itself, such as lib/shard; programs that read and
 * write streams need only msg.h.  The functions are in msg.c.
 */
#ifndef MSG_WIRE_H
#define MSG_WIRE_H

#include "msg/msg.h"

#include <xxhash.h>

/* Longest header of a message, bytes. */
#define MSG_HEADER_MAX ((size_t)1 << 20)
/* Most bytes of a message's data: a damaged stream may claim more. */
#define MSG_MAX ((uint64_t)1 << 40)
#define MSG_ALIGN 64 /* alignment of a message's data in memory */

enum msg_kind msg_kind_of(const char *name);
/* XXH3-128 of p[n], in canonical byte order. */
void chain_of(struct chain *c, const void *p, size_t n);
/* chain_begin starts a hash of the chain `before` (NULL: none) and of the bytes
 * that XXH3_128bits_update then adds; chain_end sets *c to the hash. */
void chain_begin(XXH3_state_t *x, const struct chain *before);
void chain_end(XXH3_state_t *x, struct chain *c);
/* Parse a decimal number without sign or leading zero.  0; -1: it is none. */
int msg_number(const char *s, uint64_t *r);
/* Find the length of the message at p, of which n bytes have come, in steps.
 * 0: if *need > n, call again when *need bytes have come; else *need is the
 * length.  -1 and EX_INPUT: no message begins here. */
int msg_size(const void *p, size_t n, size_t *need, struct err *e);
/* Number of tokens in m, without padding. */
uint64_t msg_tokens(const struct msg *m);
/* Key of a document: XXH3-64 of the source's name, NUL, the input's name, NUL,
 * and record as 8 bytes, little-endian. */
uint64_t msg_doc_key(const char *source, const char *input, uint64_t record);
/* Does the writer itself set this key in each message of kind k?  Such a key is
 * not copied from another message. */
int msg_is_own_key(enum msg_kind k, const char *key);
/* Refuse an address shm:, unix: or tcp: where a folder is needed: -1 and
 * EX_USAGE. */
int msg_refuse_address(const char *addr, struct err *e);

/* Bytes to leave free between an aligned address and a message, so that the
 * message's data is aligned too.  header: bytes of its JSON header. */
static inline size_t
msg_pad(size_t header)
{
    return (MSG_ALIGN - (8 + header) % MSG_ALIGN) % MSG_ALIGN;
}

#endif
