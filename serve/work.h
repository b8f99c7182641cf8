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
    struct gen_engine *exact; /* computes requests with echo; NULL: engine
                               * does */
    struct queue *queue;
    struct metrics *metrics;
    const struct tokenizer *tok;
    struct teach *targets; /* NULL: no call asks for some */
    size_t vocab;          /* ids of the model */
    struct http *http;     /* closed when the first signal comes */
    size_t at_once;        /* texts that run at a time */
    double longest;        /* seconds that a request may take */
};
/* Answer calls until a signal asks to stop: then answer those that are there.
 * A second signal, two seconds later or more, cancels these.  Returns 0 if all
 * were answered, else the number of cancelled ones. */
size_t work_run(const struct work *w);

#endif
