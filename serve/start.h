/* The options of serve, and the parts of the server that are made from them. */
#ifndef SERVE_START_H
#define SERVE_START_H

#include "api.h"
#include "teach.h"
#include "base/pool.h"
#include "cli/opt.h"
#include "cli/setup.h"
#include "gen/engine.h"
#include "model/files/model.h"
#include "model/decode/packed.h"
#include "tok/tok.h"

#include <stddef.h>

struct serve_args {
    const char *model, *tokenizer, *template, *name, *host, *key_file, *adapter;
    struct setup setup;
    size_t port, seed;
    size_t at_once, queue, texts, longest, cache, slice, targets;
    size_t buffers, body, connections;
    double idle, timeout;
    struct opt_list origins;
};

/* All parts of the server. */
struct server {
    struct model m;
    struct tokenizer *tok;
    struct chat *chat;        /* NULL: the model has no template */
    struct mask_vocab *vocab; /* NULL: texts cannot be bound by schemas */
    char *no_vocab;           /* why not */
    struct pool *pool;
    struct packed *packed;     /* weights for products in 8-bit integers; NULL:
                                * all products are in floating point */
    struct gen_engine *engine; /* computes with `packed` if that is not NULL */
    struct gen_engine *exact;  /* computes in floating point; NULL: `engine`
                                * does */
    struct teach *targets;     /* NULL: no --targets */
    struct gen_limits limits;
    struct api api;
    char *key; /* key that clients must send; NULL: none */
};
/* Open the model and make all parts, and tell how much memory they take.  Dies
 * on errors. */
void server_open(struct server *s, const struct serve_args *a);
void server_close(struct server *s);

#endif
