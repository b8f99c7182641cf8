/* An answer of an HTTP server, decoded as its bytes come: the status, and the
 * body without the frames of chunks. */
#ifndef GENERATE_BENCH_ANSWER_H
#define GENERATE_BENCH_ANSWER_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

struct bench_answer {
    int status; /* 0: not known yet */
    struct buf body;
    int whole; /* nothing follows */
    /* not decoded yet: */
    struct buf raw;
    int chunked;
    size_t left; /* bytes of the chunk that are still to come, with its end */
};
/* Take n bytes that came; n = 0: the connection was closed.  -1 and *e
 * (EX_INPUT): it is not HTTP, or the answer is broken off. */
int bench_answer_take(struct bench_answer *a, const char *p, size_t n,
    struct err *e);
void bench_answer_release(struct bench_answer *a);

#endif
