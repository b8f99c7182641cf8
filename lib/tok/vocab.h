/* The tables of vocabulary and merges. */
#ifndef TOK_VOCAB_H
#define TOK_VOCAB_H

#include "tok/vocab_json.h"

int vocab_load(struct tokenizer *t, const struct names *names, struct err *e);
/* Read the merges and their ties.  The ties are model.retort_ties: [[first,
 * number], ...]: `number` merges from merge `first` on have the same rank.
 * *pairs: left << 32 | right of every merge; malloc'd, the caller frees it.
 * Returns as tok_load. */
int merges_load(struct tokenizer *t, const struct tok_source *src,
    const struct names *names, uint64_t **pairs, struct err *e);
/* GPT-2's visible letter of a byte, a code point below 512. */
uint32_t vocab_letter(unsigned b);
/* Set the text of id to n bytes at offset `off` of the pool. */
void vocab_set(struct tokenizer *t, size_t id, size_t off, size_t n);
/* Fill t->hash. */
void tok_hash_all(struct tokenizer *t, const uint64_t *pairs);

#endif
