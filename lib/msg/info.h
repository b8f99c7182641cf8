/*
 * The fields of the `stream` message.  Strings are owned by the struct after
 * stream_info_read, and borrowed for stream_info_put.
 */
#ifndef MSG_INFO_H
#define MSG_INFO_H

#include "base/err.h"
#include "base/mem.h"
#include "format/safetensors.h"

#include <stddef.h>
#include <stdint.h>

/* H(k) of a stream, see msg.h. */
struct chain {
    unsigned char h[16];
};
void chain_hex(const struct chain *c, char out[33]);
int chain_parse(struct chain *c, const char *hex); /* 0, or -1 */

struct stream_info {
    const char *content;   /* "docs" or "batch" */
    const char *tokenizer; /* hash of the tokenizer, 32 hex digits */
    size_t vocab;          /* ids are < vocab */
    int64_t bos, eos;      /* id put before, after each document; -1 none */
    size_t nsource;        /* 1..65536 */
    const char **source;   /* names, without bytes < 0x20, each once */
    size_t T;              /* batches: tokens a row; docs: 0 */
    const char *algorithm; /* batches: the cursor's algorithm, else NULL */
    int resumed;           /* next_seq and chain are given */
    uint64_t next_seq;
    struct chain chain;   /* H(next_seq - 1) */
    struct chain down;    /* the consumer's; = chain if not given */
    uint64_t next_tokens; /* tokens before next_seq */
    struct buf mem;
};
/* 0, or -1 and EX_INPUT: a key is missing, malformed or of an unknown
 * version.  stream_info_release frees what read has put there. */
int stream_info_read(struct stream_info *i, const struct st *head,
    struct err *e);
void stream_info_release(struct stream_info *i);
/* Do the streams x and y (names for the error) go together in one: the same
 * content, tokenizer, BOS, EOS and T?  0, or -1 and EX_INPUT. */
int stream_info_fits(const struct stream_info *a, const char *x,
    const struct stream_info *b, const char *y, struct err *e);
/* Add the sources of i that all does not have; map[i->nsource] gets the number
 * of each there.  Names stay those of i; all->source is grown and the
 * caller's to free. */
int stream_info_merge(struct stream_info *all, const struct stream_info *i,
    uint16_t *map, struct err *e);
/* Add version and the fields above (not those of resuming: see
 * msg_out_resume) to a message begun with msg_begin(w, MSG_STREAM). */
void stream_info_put(struct st_out *o, const struct stream_info *i);

#endif
