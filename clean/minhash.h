/*
 * MinHash: of each of some hash functions the least value over all runs of
 * five words.  Two texts share a value with a probability that is the Jaccard
 * similarity of their sets of runs (Broder 1997); cut into bands of rows they
 * share a whole band with 1 - (1 - J^rows)^bands.
 */
#ifndef CLEAN_MINHASH_H
#define CLEAN_MINHASH_H

#include "words.h"

#include <stddef.h>
#include <stdint.h>

#define MINHASH_MOST 1024 /* hash functions */

/* The functions themselves, factor * x + term (mod 2^64), fixed for ever by
 * their number. */
struct minhash {
    size_t n;
    uint64_t factor[MINHASH_MOST], term[MINHASH_MOST];
};
void minhash_init(struct minhash *m, size_t functions);

/* value[m->n] of the words that *w has left; returns how many words there
 * were (0: value is not set).  Fewer than five are one run. */
size_t minhash_text(const struct minhash *m, struct words *w, uint64_t *value);

#endif
