/*
 * A feed makes the rows that stream writes, in a sequence that depends only on
 * the data and the cursor.  There are two: rows packed from documents (docs.h),
 * and rows of recorded batches (rows.h).
 */
#ifndef STREAM_FEED_H
#define STREAM_FEED_H

#include "ahead.h"
#include "cursor.h"
#include "format/safetensors.h"

#include <stddef.h>
#include <stdint.h>

struct feed {
    /* Append the next row to the batch being made.  1: appended.  0: the data
     * (or the epochs asked for) are at their end.  -1: damage. */
    int (*row)(struct feed *f, struct err *e);
    /* put: add the batch's tensors to a message; their data must stay until
     * clear, which begins the next batch. */
    void (*put)(struct feed *f, struct st_out *o);
    void (*clear)(struct feed *f);
    /* Set the feed's members of the cursor.  Pointers in it are valid until the
     * next row. */
    void (*save)(struct feed *f, struct cursor *c);
    /* Continue from a cursor, before the first row.  -1 (EX_INPUT): the cursor
     * is not of this data. */
    int (*load)(struct feed *f, const struct cursor *c, struct err *e);
    /* Set *rows to the number of rows of the whole stream, reading as little as
     * possible; 0: it has no end, or counting would take long.  Called before
     * the first row and before load. */
    int (*total)(struct feed *f, uint64_t *rows, struct err *e);
    /* Print a table of what the stream will hold.  No rows can be made after
     * it. */
    int (*plan)(struct feed *f, struct err *e);
    void (*times)(struct feed *f, struct ahead_times *t);
    void (*free)(struct feed *f);
    /* The batch being made.  B, tokens: rows, and tokens without padding, of
     * all ranks. own_B, own_tokens: rows and tokens of this rank, which put
     * adds. */
    size_t B, own_B;
    uint64_t tokens, own_tokens;
    uint64_t rows;         /* rows of the whole stream so far */
    uint64_t pieces, cuts; /* pieces that this run has taken for rows; how many
                            * of them begin inside a document */
};

/* Memory and threads that a feed may use; they do not change the bytes of the
 * stream. */
struct feed_means {
    size_t mem;     /* bytes of memory, see struct sampler_opts */
    size_t threads; /* threads that read ahead */
    int plan;       /* only plan will be called: read no documents */
};

#endif
