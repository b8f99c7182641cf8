/*
 * How texts are sampled where neither options nor a request say it.
 *
 *              temperature  top-p   other samplers
 * generate run      0         1     left out
 * generate chat     0.7       0.95  left out
 * serve             1         1     left out
 *
 * generate run is greedy with every model.  The others take from a model's
 * generation_config.json, or a GGUF's general.sampling.*, what is there of
 * temperature, top_k, top_p, min_p, typical_p and repetition_penalty.  With
 * "do_sample": false the temperature is 0.  With true, a missing temperature or
 * top_p is 1, as in transformers: it does not write values that are its
 * defaults.
 */
#ifndef GEN_DEFAULTS_H
#define GEN_DEFAULTS_H

#include "gen/sample.h"

#include <math.h>

enum defaults_of { DEFAULTS_RUN, DEFAULTS_CHAT, DEFAULTS_SERVE };

/* Set *s to the values for a model, a directory or a .gguf.  -1 and *e "path:
 * NAME: why": the model's value is of a wrong type or out of range; EX_SYS. */
int defaults_read(struct sampling *s, enum defaults_of what, const char *model,
    struct err *e);

/* Values of options that were not given: NAN, or SIZE_MAX. */
#define SAMPLING_OPEN                                                      \
    {                                                                      \
        .temperature = NAN, .top_k = SIZE_MAX, .top_p = NAN, .min_p = NAN, \
        .typical = NAN, .repetition = NAN                                  \
    }
/* Replace these in *s by the values of *by. */
void defaults_fill(struct sampling *s, const struct sampling *by);

#endif
