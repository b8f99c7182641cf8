/*
 * MinHash: for each hash function the least value over all runs of five words.
 * Two texts agree in a value with a probability J, the Jaccard similarity of
 * their sets of runs (Broder 1997), and in all values of at least one of
 * `bands` bands of `rows` values with 1 - (1 - J^rows)^bands.
 */
#ifndef CLEAN_MINHASH_H
#define CLEAN_MINHASH_H

#include "words.h"

#include <stddef.h>
#include <stdint.h>

#define MINHASH_MOST 1024 /* hash functions */

/* The hash functions factor[i] * x + term[i] (mod 2^64).  They depend only on
 * i, so signatures of different runs can be compared. */
struct minhash {
    size_t n;
    uint64_t factor[MINHASH_MOST], term[MINHASH_MOST];
};
void minhash_init(struct minhash *m, size_t functions);

/* Set value[m->n] for the words that *w has left, of which fewer than five are
 * one run.  Returns the number of words (0: value is not set). */
size_t minhash_text(const struct minhash *m, struct words *w, uint64_t *value);

#endif
