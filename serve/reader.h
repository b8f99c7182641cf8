/*
 * The thread that reads requests.  Parsing a body, rendering a chat template
 * and encoding a text may take seconds; meanwhile the HTTP thread serves all
 * other connections.  Requests are read one at a time, in the order in which
 * they came; the server's limits on connections and on bytes held also limit
 * how many wait.
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

/* Start the thread.  It calls `wake` for each request that has been read, so
 * that the HTTP server sends its answer.  NULL and *e. */
struct reader *reader_new(struct api *api, void (*wake)(struct reading *g),
    struct err *e);
/* Give a request, counted by queue_reading_begin, to the thread, which sets
 * g->answer, calls `wake` and then leaves *g alone. */
void reader_put(struct reader *r, struct reading *g);
/* The answer of a request that has been read. */
struct api_answer reader_answer(struct reader *r, const struct reading *g);
/* End the thread; requests that wait or come later are refused (503). */
void reader_stop(struct reader *r);
void reader_free(struct reader *r);

#endif
