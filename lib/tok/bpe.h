/* Byte-level BPE, and the ids of texts of the vocabulary. */
#ifndef TOK_BPE_H
#define TOK_BPE_H

#include "tok/tokenizer.h"

/* Id of bytes in the vocabulary, or TOK_NONE; hash: vocab_hash of them. */
uint64_t vocab_hash(const void *p, size_t n);
uint32_t vocab_find(const struct tokenizer *t, const void *p, size_t n,
    uint64_t hash);
static inline uint32_t
vocab_id_of(const struct tokenizer *t, const void *p, size_t n)
{
    return vocab_find(t, p, n, vocab_hash(p, n));
}

/* Encode text without added tokens, normalized. */
void bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out);

#endif
