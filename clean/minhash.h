/*
 * MinHash: of each hash function, the smallest value over all sequences of five
 * words of a text (words_begin_each).  If two texts
 * have a share J of all their sequences in common (Jaccard similarity), a
 * function has the same smallest value for both with probability J (Broder
 * 1997).  The values are cut into `bands` bands of `rows` values; two texts
 * have at least one equal band with probability 1 - (1 - J^rows)^bands.
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

/* Set value [m->n] from all sequences of five of the words left in *w; fewer
 * than five words are one sequence.  Returns the number of words; 0: the values
 * mean nothing. */
size_t minhash_text(const struct minhash *m, struct words *w, uint64_t *value);

#endif
