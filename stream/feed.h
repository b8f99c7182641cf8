/*
 * A feed gives the rows that stream writes: a sequence that depends on the data
 * and the cursor alone.  Two kinds: rows packed from documents (docs.h), and
 * rows of recorded batches (rows.h).
 */
#ifndef STREAM_FEED_H
#define STREAM_FEED_H

#include "ahead.h"
#include "cursor.h"
#include "format/safetensors.h"

#include <stddef.h>
#include <stdint.h>

struct feed {
    /* Append the next row to the batch being made: 1; 0: the data (or the
     * epochs asked for) is at its end; -1: damage. */
    int (*row)(struct feed *f, struct err *e);
    /* Add the batch's tensors to a message; their data stays until clear, which
     * begins the next batch. */
    void (*put)(struct feed *f, struct st_out *o);
    void (*clear)(struct feed *f);
    /* Fill the feed's part of the cursor; pointers are borrowed until the next
     * row. */
    void (*save)(struct feed *f, struct cursor *c);
    /* Go to a cursor that was read; EX_INPUT when it cannot be of this data.
     * Only before the first row. */
    int (*load)(struct feed *f, const struct cursor *c, struct err *e);
    /* Count the rows of the whole stream, from its beginning, reading as little
     * as that takes; 0: it has no end, or counting would take long.  Only
     * before the first row and before load. */
    int (*total)(struct feed *f, uint64_t *rows, struct err *e);
    /* A table for people on stdout: what the stream will hold.  The feed gives
     * no rows after it. */
    int (*plan)(struct feed *f, struct err *e);
    void (*times)(struct feed *f, struct ahead_times *t);
    void (*free)(struct feed *f);
    /* The batch being made, of all ranks: rows, tokens without padding; and
     * the rank's own of them, which put writes. */
    size_t B, own_B;
    uint64_t tokens, own_tokens;
    uint64_t rows;         /* in the whole stream so far */
    uint64_t pieces, cuts; /* counted in this run; cuts: pieces that do not
                             * begin a document */
};

/* Resources of a feed: they change no byte of the stream. */
struct feed_means {
    size_t mem;     /* bytes, see sampler_opts */
    size_t threads; /* that read ahead */
    int plan;       /* only for a plan: read no documents */
};

#endif
