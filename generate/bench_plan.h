/* The requests of generate bench: a function of the seed. */
#ifndef GENERATE_BENCH_PLAN_H
#define GENERATE_BENCH_PLAN_H

#include "gen/params.h"

#include <stddef.h>
#include <stdint.h>

struct bench_plan {
    size_t count;          /* requests that are measured */
    size_t prefix;         /* tokens that all prompts begin with */
    size_t prompt, length; /* tokens after the prefix, and new tokens */
    double vary;           /* each request draws both numbers, from (1 - vary)
                            * to (1 + vary) times `prompt` and `length` */
    size_t V;              /* ids are drawn below V */
    size_t slice;          /* tokens of prompts read in a step, at most */
    uint64_t seed;
    struct gen_params params; /* of each request, but for its length */
    size_t levels;            /* number of at_once */
    size_t *at_once;          /* [levels] requests that run at a time */
};

/* Requests of a turn: level k measures requests 0 to count - 1 in turns. */
size_t bench_per_turn(const struct bench_plan *p, size_t k);
/* Requests that level k sends first, from number `count` on, to warm up. */
size_t bench_warm_up(const struct bench_plan *p, size_t k);
/* The largest bench_warm_up of all levels. */
size_t bench_most_warm_up(const struct bench_plan *p);

/* Tokens of the prompt of request i, prefix included, and its new tokens.  They
 * are the same at all levels. */
size_t bench_prompt_length(const struct bench_plan *p, size_t i);
size_t bench_new_tokens(const struct bench_plan *p, size_t i);
/* The most tokens of a prompt and its text together. */
size_t bench_longest(const struct bench_plan *p);
/* Fill ids [bench_prompt_length] with the prompt of request i at level k.
 * Prompts of different levels share the prefix only, so no cache has the
 * rest. */
void bench_prompt(const struct bench_plan *p, size_t k, size_t i,
    uint32_t *ids);

#endif
