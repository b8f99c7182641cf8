/* Byte-level BPE, and looking up texts of the vocabulary. */
#ifndef TOK_BPE_H
#define TOK_BPE_H

#include "tok/tokenizer.h"

/* vocab_find: the id of the text p[n], or TOK_NONE; hash: vocab_hash of that
 * text. */
uint64_t vocab_hash(const void *p, size_t n);
uint32_t vocab_find(const struct tokenizer *t, const void *p, size_t n,
    uint64_t hash);
static inline uint32_t
vocab_id_of(const struct tokenizer *t, const void *p, size_t n)
{
    return vocab_find(t, p, n, vocab_hash(p, n));
}

/* Encode normalized text between added tokens. */
void bpe_gap(const struct tokenizer *t, struct tok_scratch *s,
    const unsigned char *p, size_t n, struct tok_ids *out);

#endif
