/* From inputs to documents with ids, in order, by several threads. */
#ifndef TOKENIZE_RUN_H
#define TOKENIZE_RUN_H

#include "tokenize_in.h"

#include "data/tokenizer.h"

/* One document as it comes out. */
struct doc {
    struct buf raw;         /* the record as it was read */
    size_t input;
    uint64_t record;        /* its number in the input */
    uint64_t at;            /* its offset there */
    size_t source;
    uint64_t key;           /* see DESIGN section 3 */
    struct tok_ids ids;     /* with BOS and EOS; empty for an empty text */
    size_t bytes;           /* of the text */
    size_t chars, words;    /* if asked for; ids without BOS and EOS: */
    size_t plain;
    size_t repaired;        /* places that were not UTF-8 */
    struct err e;           /* code 0: fine */
};

struct run_opts {
    const struct tokenizer *t;  /* NULL: only the text is wanted */
    const char *field, *lang_field;
    enum split_by split;
    int strict, special, count;
    int64_t bos, eos;           /* put around a document, or -1 */
    size_t threads;
    /* Without a tokenizer: called with each text, one at a time, in order. */
    void (*text)(void *ctx, const char *text, size_t n);
    /* Called with each document in order; 0, or not 0 to stop. */
    int (*put)(void *ctx, const struct doc *d, struct err *e);
    void *ctx;
};

struct run_sums {
    uint64_t docs, empty, bytes, tokens, repaired;
};

/* 0; 1 when put has stopped it; -1 and *e, after every document before the
 * fault has been put. */
int run_inputs(const struct inputs *in, const struct run_opts *o,
    struct run_sums *sum, struct err *e);

#endif
