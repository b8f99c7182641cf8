/*
 * MinHash: of each of some hash functions the least value over all runs of
 * five words.  Two texts share a value with a probability that is the Jaccard
 * similarity of their sets of runs (Broder 1997); cut into bands of rows they
 * share a whole band with 1 - (1 - J^rows)^bands.
 */
#ifndef TOKENIZE_MINHASH_H
#define TOKENIZE_MINHASH_H

#include "tokenize_words.h"

#include <stddef.h>
#include <stdint.h>

#define MINHASH_MOST 1024   /* hash functions */
#define MINHASH_WORDS 5

/* value[i] = min over x of factor[i] * x + term[i] (mod 2^64), beginning
 * from what is there.  x, value and functions do not overlap. */
void minhash_ref(uint64_t *restrict value, const uint64_t *restrict factor,
    const uint64_t *restrict term, size_t functions,
    const uint64_t *restrict x, size_t n);
/* The same with AVX-512DQ; where the compiler has none, minhash_ref. */
void minhash_avx512(uint64_t *restrict value, const uint64_t *restrict factor,
    const uint64_t *restrict term, size_t functions,
    const uint64_t *restrict x, size_t n);

/* The functions themselves, fixed for ever by their number. */
struct minhash {
    size_t n;
    uint64_t factor[MINHASH_MOST], term[MINHASH_MOST];
    void (*least)(uint64_t *restrict, const uint64_t *restrict,
        const uint64_t *restrict, size_t, const uint64_t *restrict, size_t);
};
void minhash_init(struct minhash *m, size_t functions);

/* value[m->n] of words that come one after another; end returns how many there
 * were (0: value is not set). */
#define MINHASH_BLOCK 256
struct minhash_run {
    const struct minhash *m;
    uint64_t *value;
    uint64_t word[MINHASH_WORDS], x[MINHASH_BLOCK];
    size_t words, n;
};
void minhash_begin(struct minhash_run *r, const struct minhash *m,
    uint64_t *value);
void minhash_word(struct minhash_run *r, uint64_t hash);
size_t minhash_end(struct minhash_run *r);

/* value[m->n] of the words that *w has left; returns how many words there
 * were (0: value is not set).  Fewer than five are one run. */
size_t minhash_text(const struct minhash *m, struct words *w,
    uint64_t *value);

#endif
