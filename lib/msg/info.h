/*
 * The fields of the `stream` message.  stream_info_read makes the struct own
 * its strings; stream_info_put only borrows them.
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
    int64_t bos, eos;      /* ids at the beginning and the end of each document,
                            * conversations excepted; -1: none */
    size_t nsource;        /* number of sources, 1..65536 */
    const char **source;   /* [nsource] names, distinct, no bytes < 0x20 */
    size_t T;              /* tokens of a row; 0 if content is docs */
    const char *algorithm; /* name of the algorithm that the cursor belongs to;
                            * NULL for docs */
    int resumed;           /* 1: next_seq, chain and next_tokens are set */
    uint64_t next_seq;     /* number of the first message after the preamble */
    struct chain chain;    /* H(next_seq - 1) */
    struct chain down;     /* the chain of the consumer that is continued
                            * (key chain_down); equal to chain if that key is
                            * missing */
    uint64_t next_tokens;  /* tokens of the messages before next_seq */
    struct buf mem;        /* holds the strings that stream_info_read has
                            * read */
};
/* Returns 0, or -1 and EX_INPUT: a key is missing, malformed or of an unknown
 * version.  stream_info_release frees what it allocates. */
int stream_info_read(struct stream_info *i, const struct st *head,
    struct err *e);
void stream_info_release(struct stream_info *i);
/* Can streams a and b, which errors call x and y, become one?  0: they can:
 * content, tokenizer, vocab and T are equal, and so are bos and eos where both
 * have one (conversations have none); -1 and EX_INPUT. */
int stream_info_fits(const struct stream_info *a, const char *x,
    const struct stream_info *b, const char *y, struct err *e);
/* Add to `all` the sources of i that are not in `all` yet, and bos and eos if
 * `all` has none.  map[k] gets the number that i's source k has in `all`.  The
 * caller frees all->source, which is reallocated; the names added still belong
 * to i. */
int stream_info_merge(struct stream_info *all, const struct stream_info *i,
    uint16_t *map, struct err *e);
/* Add the version and the fields up to `algorithm` to a message begun with
 * msg_begin(w, MSG_STREAM).  msg_send adds the fields of resuming
 * (msg_out_resume). */
void stream_info_put(struct st_out *o, const struct stream_info *i);

#endif
