/* An answer of an HTTP server, decoded as its bytes come: the status, and the
 * body without the frames of chunks. */
#ifndef MSG_HTTP_ANSWER_H
#define MSG_HTTP_ANSWER_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>

struct http_answer {
    int status; /* 0: not known yet */
    struct buf body;
    int whole;   /* 1: the answer is complete */
    size_t most; /* the caller's limit on the bytes of the body; 0: none */
    int over;    /* 1: the answer was refused, as its body is longer than `most`
                  * or than its Content-Length */
    /* The decoder's state; raw: bytes that are not decoded yet. */
    struct buf raw;
    int chunked, sized; /* chunked: 1: the body comes in chunks; sized: 1: it
                         * has a Content-Length */
    size_t left; /* if sized: bytes of the body still to come; if chunked: of
                  * the chunk, including the CR and LF that end it */
};
/* Take n bytes that came; n = 0: the connection was closed.  -1 and *e
 * (EX_INPUT): the answer is not HTTP, is too long, or is incomplete. */
int http_answer_take(struct http_answer *a, const char *p, size_t n,
    struct err *e);
void http_answer_release(struct http_answer *a);

#endif
