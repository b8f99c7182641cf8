/* The parts of the program shard: see shard(1) */
#ifndef SHARD_SHARD_H
#define SHARD_SHARD_H

#include "base/err.h"

#include <stddef.h>

struct dump_opts {
    const char *tokenizer;      /* to decode ids with, or NULL */
    size_t values;              /* values, documents, pieces shown of each */
    size_t messages;            /* shown; SIZE_MAX: all */
    int partial;
};
/* Show a stream or directory on standard output; dies on damage. */
void dump(const char *addr, const struct dump_opts *o);
/* Print the table of a directory on standard output. */
void list(const char *dir);

#endif
