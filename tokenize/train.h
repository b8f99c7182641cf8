/* tokenize --train: a tokenizer from the inputs. */
#ifndef TOKENIZE_TRAIN_H
#define TOKENIZE_TRAIN_H

#include "run.h"

struct train_opts {
    size_t vocab, min_frequency;
    int digits;
    const char *eos;     /* the one special token, id 0 */
    const char *weights; /* of the sources, see tokenize(1), or NULL */
    const char *out;     /* a directory, or a file that ends in .json */
};

/* Read all input, train, write tokenizer.json and tokenizer_config.json.
 * run says how to read; 0, or -1 and *e (EX_USAGE: weights that cannot be,
 * before anything is read). */
int train_run(const struct inputs *in, const struct run_opts *run,
    const struct train_opts *o, struct run_sums *sum, struct err *e);

#endif
