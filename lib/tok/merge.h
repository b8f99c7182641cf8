/* Merging the symbols of one piece. */
#ifndef TOK_MERGE_H
#define TOK_MERGE_H

#include "tok/tokenizer.h"

/* Memory for n symbols to merge, of s, until the next call. */
uint32_t *bpe_symbols(struct tok_scratch *s, size_t n);
/* Merge id[n] in place by the merges of t; returns how many are left.  Unless
 * start[n] is NULL, start[i] becomes the number of the first of the symbols
 * that id[i] was merged from. */
size_t bpe_merge(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start);

#endif
