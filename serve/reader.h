/*
 * The thread that reads requests.  To parse a body, render a chat template and
 * encode a text may take seconds; in this time the HTTP thread goes on with all
 * other connections.  Requests are read one at a time, in the order in which
 * they came; bounds on connections and bytes held bound how many wait.
 */
#ifndef SERVE_READER_H
#define SERVE_READER_H

#include "api.h"
#include "base/err.h"

#include <stddef.h>

struct reader;

/* A request that waits to be read, or has been read. */
struct reading {
    enum api_path path;
    const char *body; /* n bytes, which outlive the reading */
    size_t n;
    double arrived; /* clock_now when the request came */
    struct api_answer answer;
    void *con; /* struct exchange of http.c */
    struct reading *next;
};

/* Start the thread.  wake: lets the HTTP server go on with a request that has
 * been read; called by the thread.  NULL and *e. */
struct reader *reader_new(struct api *api, void (*wake)(struct reading *g),
    struct err *e);
/* Give a request, counted by queue_reading_begin, to the thread, which sets
 * g->answer, calls `wake` and then leaves *g alone. */
void reader_put(struct reader *r, struct reading *g);
/* The answer of a request that has been read. */
struct api_answer reader_answer(struct reader *r, const struct reading *g);
/* End the thread; requests that wait, or come later, are refused (503). */
void reader_stop(struct reader *r);
void reader_free(struct reader *r);

#endif
