/* Documents, batches and texts into rows. */
#ifndef EVALPPL_READ_H
#define EVALPPL_READ_H

#include "pack.h"
#include "msg/batch.h"

#include <stddef.h>
#include <stdint.h>

struct reader {
    struct eval *e;
    struct pack pack;
    int ready;     /* pack is made: T is known */
    uint32_t *ids; /* of a docs message, or the joined text */
    size_t n, cap;
    size_t nwindow;  /* llama.cpp: windows scored so far */
    uint64_t tokens; /* of what has been read */
    struct msg_in *in;
    struct batch batch;
};

/* Rows of T tokens; the first call counts. */
void reader_start(struct reader *r, size_t T);

struct window {
    const uint32_t *ids; /* [n] */
    size_t n;            /* <= T + 1: of more than T the last is a target */
    size_t from;         /* targets from there on, > 0 */
    const unsigned char *mask; /* [n] 0: not that one; NULL: all */
    size_t unit;
    size_t pos;    /* place of ids[0] in its document */
    double weight; /* of each prediction */
};
/*
 * Put a window into a row, which is scored when all are full.  Windows begin at
 * multiples of the attention's tile, so that a document's figures do not depend
 * on what stands before it in the row.
 */
void reader_window(struct reader *r, const struct window *w);

/* Warn of ids of another tokenizer than j's: the figures would be meaningless.
 * Otherwise e->vocab is made, if it is not yet. */
void reader_tokenizer(struct eval *e, struct eval_model *j);

/* Score what is left; dies if nothing has been scored.  Frees what r holds. */
void reader_finish(struct reader *r);

/* Read the stream at addr and score it; eval_base: the text of e->in.  Both die
 * on damage. */
void eval_stream(struct eval *e, const char *addr);
void eval_base(struct eval *e);

#endif
