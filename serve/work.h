/*
 * The engine's thread: takes calls from the queue, writes their texts with
 * lib/gen, and puts the answers into the calls.
 */
#ifndef SERVE_WORK_H
#define SERVE_WORK_H

#include "http.h"
#include "metrics.h"
#include "queue.h"
#include "gen/engine.h"
#include "tok/tok.h"

#include <stddef.h>

struct work {
    struct gen_engine *engine;
    struct gen_engine *exact; /* computes requests with echo; NULL: `engine`
                               * does */
    struct queue *queue;
    struct metrics *metrics;
    const struct tokenizer *tok;
    struct teach *targets; /* NULL: no call asks for targets */
    size_t vocab;          /* number of the model's ids */
    struct http *http;     /* closed when the first signal comes */
    size_t at_once;        /* limit of texts that run at a time */
    double longest;        /* limit of a request's time, seconds */
};
/* Answer calls until a signal asks to stop, then the calls that have already
 * come.  A second signal, at least two seconds later, cancels these.  Returns
 * the number of cancelled calls. */
size_t work_run(const struct work *w);

#endif
