/* Engines of the commands of generate, and the memory that they take. */
#ifndef GENERATE_ENGINE_H
#define GENERATE_ENGINE_H

#include "base/pool.h"
#include "gen/engine.h"
#include "model/files/model.h"

/* Make an engine, and call engine_memory.  Dies if there is not enough
 * memory. */
struct gen_engine *engine_new(const struct model *m, struct pool *pool,
    const struct tokenizer *tok, const struct gen_limits *l);
/* Print a note of the memory that engine g of model m takes, made by the limits
 * *l, and return it: bytes, with the model and the program.  Dies if there is
 * not enough. */
size_t engine_memory(const struct gen_engine *g, const struct model *m,
    const struct pool *pool, const struct gen_limits *l);
/* Die if an event says that a logit is not finite. */
void engine_check(const struct gen_event *ev);

#endif
