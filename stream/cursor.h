/*
 * The cursor: what a stream of batches must know to go on (retort-stream(5)).
 * The cursor in message k is the state before the rows of message k were
 * made, and H(k-1).  A resumed stream makes message k once more without
 * sending it, which gives H(k) and the state after it: so one text in each
 * batch is enough, whatever a filter has added to the batch on its way.
 *
 * Text, fields in this order, one space between two:
 *   cursor=2 algorithm=NAME data=HASH seq=N chain=HASH rows=N tokens=N
 *   batch=N T=N seed=N shuffle=0|1 length=batches:N|tokens:N|epochs:N
 *   [rank=RANK/RANKS:TOKENS]
 * and for the algorithm of docs
 *   pack=best|concat|none open=N weights=natural|W,W,...|hash:HASH
 *   [curriculum=HASH]
 *   sources=EPOCH.BLOCK.DOC.OFF.OWED,...
 *   window=SOURCE.FRAME.DOC.OFF.LEN.AGE,...
 * and for the algorithm of rows
 *   open=N
 * Numbers are decimal; a list may be empty; owed may be negative.
 *
 * Of more than CURSOR_SOURCES sources, which would not fit into 4 KB, weights
 * are a hash alone, and sources=recount stands for both lists: where the stream
 * was after so many rows is found by packing the lengths of documents again.
 */
#ifndef STREAM_CURSOR_H
#define STREAM_CURSOR_H

#include "base/err.h"
#include "base/mem.h"
#include "msg/msg.h"
#include "mix.h"
#include "packer.h"
#include "sampler.h"

#include <stddef.h>
#include <stdint.h>

/* A change after which the same cursor gives other bytes needs a new number. */
#define CURSOR_DOCS "docs-2"
#define CURSOR_ROWS "rows-2"

#define CURSOR_SOURCES 32

enum length { LENGTH_BATCHES, LENGTH_TOKENS, LENGTH_EPOCHS };
extern const char *const length_names[];

/* Weights w [nsource] count from `at` tokens of the stream on. */
struct cursor_stage {
    uint64_t at;
    uint64_t *w;
};

/* The user's choices, which determine content. */
struct cursor_spec {
    size_t B, T;
    size_t rank, ranks; /* rows rank, rank + ranks, ... of each batch of B
                             * are this stream's; 0 of 1: all */
    uint64_t seed;
    int shuffle;
    enum length length;
    uint64_t limit;
    enum pack pack;
    size_t open; /* documents: see struct sampler_opts; rows: the frames that
                  * are shuffled at once, 0: the stored order */
    int natural; /* weights are the tokens that the sources have */
    uint64_t *w; /* [nsource] quantised, unless natural */
    size_t nw;
    int hashed;          /* a cursor that was read held only the hash of w */
    struct chain w_hash; /* hash of w, in the text if there are more than
                          * CURSOR_SOURCES */
    int staged;          /* there is a curriculum, of the hash below; its stages
                          * are not part of the text */
    struct chain curriculum;
    struct cursor_stage *stage;
    size_t nstage;
};

struct cursor {
    char algorithm[24];
    struct chain data;     /* dirs.hash */
    uint64_t seq;          /* number of the message that holds the cursor */
    struct chain chain;    /* H(seq - 1) */
    uint64_t rows, tokens; /* before that message, of all ranks */
    uint64_t own;          /* tokens of this rank */
    struct cursor_spec spec;
    int recount; /* a cursor that was read held nothing of what follows */
    size_t nsource;
    struct place *place; /* [nsource] */
    int64_t *owed;       /* [nsource] */
    size_t nwindow;
    struct piece window[PACK_WINDOW]; /* without ids, mask, key */
};

/* Append the text of c to b. */
void cursor_write(struct buf *b, const struct cursor *c);
/* Parse a cursor into *c, whose old content is not looked at.  EX_INPUT when it
 * is none, malformed, or of another version.  cursor_release after success. */
int cursor_read(struct cursor *c, const char *text, struct err *e);
void cursor_release(struct cursor *c);

#endif
