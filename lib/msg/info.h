/*
 * The fields of the `stream` message.  After stream_info_read the struct owns
 * its strings; for stream_info_put they are borrowed.
 */
#ifndef MSG_INFO_H
#define MSG_INFO_H

#include "base/err.h"
#include "base/mem.h"
#include "format/safetensors.h"

#include <stddef.h>
#include <stdint.h>

/* A hash H(k) of a stream; see msg.h. */
struct chain {
    unsigned char h[16];
};
void chain_hex(const struct chain *c, char out[33]);
int chain_parse(struct chain *c, const char *hex); /* 0, or -1 */

struct stream_info {
    const char *content;   /* "docs" or "batch" */
    const char *tokenizer; /* hash of the tokenizer, 32 hex digits */
    size_t vocab;          /* ids are < vocab */
    int64_t bos, eos;      /* id before, after each document; -1: none */
    size_t nsource;        /* number of sources, 1..65536 */
    const char **source;   /* [nsource] names, distinct, no bytes < 0x20 */
    size_t T;              /* tokens of a row; 0 if content is docs */
    const char *algorithm; /* algorithm of the cursor; NULL for docs */
    int resumed;           /* next_seq, chain and next_tokens are given */
    uint64_t next_seq;     /* number of the first message after the preamble */
    struct chain chain;    /* H(next_seq - 1) */
    struct chain down;     /* the consumer's chain_down; equal to chain if
                            * absent */
    uint64_t next_tokens;  /* tokens of the messages before next_seq */
    struct buf mem;        /* holds the strings that were read */
};
/* Returns 0, or -1 and EX_INPUT: a key is missing, malformed or of an unknown
 * version.  stream_info_release frees what it allocates. */
int stream_info_read(struct stream_info *i, const struct st *head,
    struct err *e);
void stream_info_release(struct stream_info *i);
/* Can streams x and y (names for the error) become one, because content,
 * tokenizer, BOS, EOS and T are equal?  0, or -1 and EX_INPUT. */
int stream_info_fits(const struct stream_info *a, const char *x,
    const struct stream_info *b, const char *y, struct err *e);
/* Add the sources of i that `all` lacks.  map[i->nsource] gets each source's
 * number in `all`.  all->source is reallocated, and freed by the caller; the
 * names stay i's. */
int stream_info_merge(struct stream_info *all, const struct stream_info *i,
    uint16_t *map, struct err *e);
/* Add version and the fields above to a message begun with msg_begin(w,
 * MSG_STREAM); the fields of resuming are added by msg_out_resume. */
void stream_info_put(struct st_out *o, const struct stream_info *i);

#endif
