/*
 * The texts of a vocabulary's tokens, and the merges that make each token, for
 * cutting the vocabulary.  tok.h has the other functions of a tokenizer.
 */
#ifndef PRUNE_DERIVATION_H
#define PRUNE_DERIVATION_H

#include "tok/tok.h"

#include <stddef.h>
#include <stdint.h>

/* The text of id in the vocabulary: *n bytes at *s, not terminated, which live
 * as long as t.  0: no token has that id. */
int tok_text(const struct tokenizer *t, uint32_t id, const char **s, size_t *n);

/* Is id an added token? */
int tok_is_added(const struct tokenizer *t, uint32_t id);

/* tok_byte: the token of a single byte (<0xNN> if symbols are characters).
 * tok_unknown: the token of unknown text.  -1: there is none. */
int64_t tok_byte(const struct tokenizer *t, unsigned byte);
int64_t tok_unknown(const struct tokenizer *t);

/*
 * Merge the text of the token `id`.  Append to *out the text's symbols, then
 * the result of each merge, in order; the last id appended is `id`.
 * 1: done.
 * 0: nothing is appended: merging that text does not give `id` (an added token,
 *    or one that is found only by looking up whole words).
 */
int tok_derivation(const struct tokenizer *t, uint32_t id, struct tok_ids *out);

#endif
