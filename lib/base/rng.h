/*
 * Random numbers without state: every value is a function of (key, index), so
 * nothing needs to be saved and order cannot matter.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* A key derived from another key and a label, for independent sequences. */
uint64_t rng_key(uint64_t key, uint64_t label);
/* Value number i of the sequence of key: rng_u64 64 uniform bits, rng_unit
 * uniform in [0,1), rng_normal standard normal (Box-Muller). */
uint64_t rng_u64(uint64_t key, uint64_t i);
double rng_unit(uint64_t key, uint64_t i);
double rng_normal(uint64_t key, uint64_t i);

/* Keyed permutation of 0..n-1 (Feistel network with cycle walking): the image
 * of i < n.  No table; a bijection for every key and n >= 1. */
uint64_t rng_perm(uint64_t key, uint64_t n, uint64_t i);

#endif
