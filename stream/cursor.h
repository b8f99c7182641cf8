/*
 * The cursor: the state from which a stream of batches can be resumed
 * (retort-stream(5)).  The cursor in message k has the state before the rows of
 * message k were made, and H(k-1).  A resumed stream makes message k again
 * without sending it: that gives H(k), and the state after message k.  So a
 * batch needs no text but the cursor, whatever a filter adds to the batch.
 *
 * The text has these fields in this order, separated by one space:
 *   cursor=2 algorithm=NAME data=HASH seq=N chain=HASH rows=N tokens=N
 *   batch=N T=N seed=N shuffle=0|1 length=batches:N|tokens:N|epochs:N
 *   [rank=RANK/RANKS:TOKENS]
 * then for the algorithm of documents
 *   pack=best|concat|none open=N weights=natural|W,W,...|hash:HASH
 *   [curriculum=HASH]
 *   sources=EPOCH.BLOCK.DOC.OFF.OWED,...
 *   window=SOURCE.FRAME.DOC.OFF.LEN.AGE,...
 * or for the algorithm of rows
 *   open=N
 * Numbers are decimal; a list may be empty; OWED may be negative.
 *
 * With more than CURSOR_SOURCES sources the text would exceed 4 KB.  Then
 * weights are written as a hash, and sources=recount replaces the lists
 * `sources` and `window`.  The state is found by packing the lengths of
 * documents again, up to the cursor's number of rows.
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

/* Raise the number when a change makes an old cursor give other bytes. */
#define CURSOR_DOCS "docs-2"
#define CURSOR_ROWS "rows-2"

#define CURSOR_SOURCES 32

enum length { LENGTH_BATCHES, LENGTH_TOKENS, LENGTH_EPOCHS };
extern const char *const length_names[];

/* A stage of the curriculum: after `at` tokens of the stream the weights are
 * w. */
struct cursor_stage {
    uint64_t at;
    uint64_t *w; /* [nsource] */
};

/* The user's choices that determine content. */
struct cursor_spec {
    size_t B, T;
    size_t rank, ranks; /* this stream has rows rank, rank + ranks, ... of each
                         * batch of B; 0 of 1: all */
    uint64_t seed;
    int shuffle;
    enum length length;
    uint64_t limit; /* length, in batches, tokens or epochs */
    enum pack pack;
    size_t open; /* docs: see struct sampler_opts; rows: number of frames that
                  * are shuffled together, 0: stored order */
    int natural; /* weights are the sources' numbers of tokens */
    uint64_t *w; /* [nsource] quantised, unless natural */
    size_t nw;
    int hashed;          /* the cursor that was read holds w_hash instead of
                          * w */
    struct chain w_hash; /* hash of w; written in place of w if there are more
                          * than CURSOR_SOURCES sources */
    int staged;          /* there is a curriculum; the text has only its hash */
    struct chain curriculum;
    struct cursor_stage *stage; /* [nstage] */
    size_t nstage;
};

struct cursor {
    char algorithm[24];    /* CURSOR_DOCS or CURSOR_ROWS */
    struct chain data;     /* dirs.hash */
    uint64_t seq;          /* number of the message with the cursor */
    struct chain chain;    /* H(seq - 1) */
    uint64_t rows, tokens; /* those before message `seq`, of all ranks */
    uint64_t own;          /* tokens before message `seq`, of this rank */
    struct cursor_spec spec;
    int recount; /* 1: the text has `recount` instead of the members below */
    size_t nsource;
    struct place *place; /* [nsource] next token of each source */
    int64_t *owed;       /* [nsource] debt of each source: see mix_owed */
    size_t nwindow;
    struct piece window[PACK_WINDOW]; /* pieces not yet in a row; without ids,
                                       * mask, key */
};

/* Append the text of c to b. */
void cursor_write(struct buf *b, const struct cursor *c);
/* Parse a cursor into *c, which is overwritten.  EX_INPUT: the text is not a
 * cursor, malformed, or of another version.  Free with cursor_release if it
 * succeeds. */
int cursor_read(struct cursor *c, const char *text, struct err *e);
void cursor_release(struct cursor *c);

#endif
