/* Writes the stream: preamble, batches, `end`, and the closing line. */
#ifndef STREAM_SEND_H
#define STREAM_SEND_H

#include "choose.h"
#include "feed.h"

struct sending {
    const struct dirs *d;
    const struct resume *from;
    const struct feed_means *how;
    struct feed *feed;
    double begun;    /* clock_now() when the program began */
    struct cursor c; /* state before the next batch */
    /* Members that send_stream sets. */
    uint64_t batches_all;      /* batches of the whole stream; 0: not known */
    uint64_t head;             /* number of messages before the first batch */
    struct buf text;           /* text of the cursor */
    struct chain h;            /* H(c.seq - 1) */
    uint64_t made, padded;     /* tokens in the rows of this run, without and
                                * with padding */
    uint64_t batches;          /* batches of this run */
    double sending;            /* seconds of sending, without the first batch */
    double first;              /* clock_now() when the first batch was sent */
    struct ahead_times before; /* the feed's times when the first batch was
                                * sent */
};

/* Write the stream to the address `out`.  On an error, send an `abort` message
 * and die. */
void send_stream(struct sending *s, const char *out);

#endif
