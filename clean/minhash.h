/*
 * MinHash: for each hash function, the least value over all runs of five words.
 * Let J be the Jaccard similarity of two texts' sets of runs.  A hash function
 * has the same least value for both with probability J (Broder 1997).  In
 * `bands` bands of `rows` values, at least one band is the same for both with
 * probability 1 - (1 - J^rows)^bands.
 */
#ifndef CLEAN_MINHASH_H
#define CLEAN_MINHASH_H

#include "words.h"

#include <stddef.h>
#include <stdint.h>

#define MINHASH_MOST 1024 /* hash functions */

/* The hash functions factor[i] * x + term[i] (mod 2^64).  They depend only on
 * i, so values that different processes computed can be compared. */
struct minhash {
    size_t n;
    uint64_t factor[MINHASH_MOST], term[MINHASH_MOST];
};
void minhash_init(struct minhash *m, size_t functions);

/* Set value[m->n] from every run of five words left in *w; if fewer than five
 * words are left, they are one run.  Returns the number of words; if it is 0,
 * the values mean nothing. */
size_t minhash_text(const struct minhash *m, struct words *w, uint64_t *value);

#endif
