/*
 * Random numbers without state: every value is a function of (key, index).  So
 * there is no state to save, and values may be asked for in any order.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stdint.h>

/* Derive a key from another key and a label, for a sequence independent of the
 * other key's. */
uint64_t rng_key(uint64_t key, uint64_t label);
/* Value number i of the sequence of key.  rng_u64: 64 uniform bits; rng_unit:
 * uniform in [0,1); rng_normal: standard normal (Box-Muller). */
uint64_t rng_u64(uint64_t key, uint64_t i);
double rng_unit(uint64_t key, uint64_t i);
double rng_normal(uint64_t key, uint64_t i);

/* A permutation of 0..n-1, n >= 1, chosen by key: returns where i < n goes.
 * For n > 32 there is no table (Feistel network with cycle walking). */
uint64_t rng_perm(uint64_t key, uint64_t n, uint64_t i);

#endif
