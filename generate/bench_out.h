/* Results of generate bench: what was measured, and printing it. */
#ifndef GENERATE_BENCH_OUT_H
#define GENERATE_BENCH_OUT_H

#include "format/sheet.h"
#include "gen/engine.h"
#include "model/model.h"
#include "model/packed.h"

#include <stddef.h>
#include <stdint.h>

/* Measures: time to the first token, ms; time of a later token, ms; tokens per
 * second; prompts per second. */
enum { FIRST, TOKEN, TOKENS, PROMPTS, MEASURES };

/* A model under test. */
struct side {
    const char *name;
    struct model m;
    struct packed *packed; /* NULL: the model is used as it is */
    struct gen_engine *engine;
    double *value[MEASURES]; /* [bench_values(b, q)] of measure q */
};

struct measured {
    size_t rounds, each; /* each: prompts in a round */
    size_t prompt_length, length, threads;
    uint64_t seed; /* seed of the prompt, and of the bootstrap samples */
    size_t sides;
    struct side *side;        /* [sides] the models */
    uint32_t *ids;            /* [prompt_length] the prompt */
    struct gen_params params; /* of each text */
};

/* Number of values of measure q: one for each round if it is a rate, else one
 * for each prompt. */
size_t bench_values(const struct measured *b, int q);

/* Print on stdout the mean, median and 99th percentile of each measure; then,
 * for each model but the first, how many times as fast as the first it is, by
 * means. */
void bench_print(const struct measured *b, enum format format);

#endif
