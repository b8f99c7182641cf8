/* Merging the symbols of one piece. */
#ifndef TOK_MERGE_H
#define TOK_MERGE_H

#include "tok/tokenizer.h"

/* A buffer in s for n symbols to merge, valid until the next call. */
uint32_t *bpe_symbols(struct tok_scratch *s, size_t n);
/* Merge id[n] in place by the merges of t; returns how many ids are left.
 * start[n]: NULL, or start[i] becomes the index, before merging, of the first
 * symbol of id[i]. */
size_t bpe_merge(const struct tokenizer *t, struct tok_scratch *s, uint32_t *id,
    size_t n, uint32_t *start);

#endif
