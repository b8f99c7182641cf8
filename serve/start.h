/* The options of serve, and the parts that they make. */
#ifndef SERVE_START_H
#define SERVE_START_H

#include "api.h"
#include "teach.h"
#include "base/pool.h"
#include "gen/engine.h"
#include "model/model.h"
#include "model/packed.h"
#include "tok/tok.h"

#include <stddef.h>

struct serve_args {
    const char *model, *tokenizer, *template, *name, *host, *key_file, *cpus,
        *numa, *adapter;
    size_t port, threads, seed;
    size_t at_once, queue, texts, longest, cache, slice, targets; /* of the
                                                                 * engine */
    size_t buffers, body, connections;
    double idle, timeout;
    int compute, exact;
};

/* All parts of the server. */
struct server {
    struct model m;
    struct tokenizer *tok;
    struct chat *chat; /* or NULL */
    struct pool *pool;
    struct packed *packed;     /* or NULL: all products are exact */
    struct gen_engine *engine; /* its products are in integers, if packed */
    struct gen_engine *exact;  /* or NULL: engine's products are exact */
    struct teach *targets;     /* or NULL */
    struct gen_limits limits;
    struct api api;
    char *key; /* or NULL */
};
/* Open the model and make all parts; prints how much memory they take.  Dies on
 * errors. */
void server_open(struct server *s, const struct serve_args *a);
void server_close(struct server *s);

#endif
