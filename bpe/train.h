/* Training a tokenizer on the inputs. */
#ifndef BPE_TRAIN_H
#define BPE_TRAIN_H

#include "docs/docs.h"

struct train_opts {
    size_t vocab, min_frequency;
    const char *eos;     /* text of the only special token, id 0 */
    const char *weights; /* --weights of the sources, see bpe(1), or NULL */
    const char *out;     /* a directory, or a file that ends in .json */
};

/* Read all input with the options *read, train, and write tokenizer.json and
 * tokenizer_config.json.  0, or -1 and *e (EX_USAGE: invalid weights, found
 * before anything is read). */
int train_run(const struct inputs *in, const struct docs_opts *read,
    const struct train_opts *o, struct docs_sums *sum, struct err *e);

#endif
