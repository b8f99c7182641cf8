/* Random numbers without state: see rng.h */
#include "base/rng.h"

#include <math.h>

enum { SMALL = 32 }; /* up to this n, rng_perm shuffles a table */

/* Mix 64 bits by a bijection: Stafford's variant 13, the finaliser of
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t
mix_bits(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t
rng_u64(uint64_t key, uint64_t i)
{
    /* Mix the index before it meets the key: otherwise neighbouring keys would
     * give shifted copies of one sequence. */
    return mix_bits(mix_bits(i + 0x9e3779b97f4a7c15u) ^ key);
}

uint64_t
rng_key(uint64_t key, uint64_t label)
{
    return mix_bits(rng_u64(key, label) + 0xd1b54a32d192ed03u);
}

double
rng_unit(uint64_t key, uint64_t i)
{
    return (double)(rng_u64(key, i) >> 11) * 0x1p-53;
}

double
rng_normal(uint64_t key, uint64_t i)
{
    const double two_pi = 6.283185307179586;
    /* In (0,1], so that the logarithm is finite. */
    const double u = (double)((rng_u64(key, 2 * i) >> 11) + 1) * 0x1p-53;

    return sqrt(-2.0 * log(u)) * cos(two_pi * rng_unit(key, 2 * i + 1));
}

/* A Feistel network over a + b bits; its halves may differ in length by one
 * bit.  Each round adds a function of one half to the other, which can be
 * undone. */
static uint64_t
feistel(uint64_t key, unsigned a, unsigned b, uint64_t x)
{
    const uint64_t ma = ((uint64_t)1 << a) - 1, mb = ((uint64_t)1 << b) - 1;
    uint64_t hi = x >> b, lo = x & mb;

    for (uint64_t round = 0; round < 4; round++) {
        hi ^= mix_bits(key + mix_bits(lo + (2 * round << 32))) & ma;
        lo ^= mix_bits(key + mix_bits(hi + ((2 * round + 1) << 32))) & mb;
    }
    return hi << b | lo;
}

/* Durstenfeld's shuffle (CACM 7, 1964) of a table: all orders of n are equally
 * likely.  With a network over so few bits they would not be. */
static uint64_t
perm_small(uint64_t key, uint64_t n, uint64_t i)
{
    unsigned char p[SMALL] = { 0 };

    for (uint64_t k = 0; k < n; k++) {
        /* The bias of a 64-bit remainder by k + 1 <= SMALL is below 1e-17. */
        const uint64_t j = rng_u64(key, k) % (k + 1);

        p[k] = p[j];
        p[j] = (unsigned char)k;
    }
    return p[i];
}

uint64_t
rng_perm(uint64_t key, uint64_t n, uint64_t i)
{
    unsigned bits = 0;

    if (n <= SMALL)
        return perm_small(key, n, i);
    while (bits < 64 && (n - 1) >> bits != 0)
        bits++;
    /* Cycle walking: the network permutes 2^bits < 2n numbers.  Applied again
     * and again to i < n, it comes back below n, to a number that no other i
     * reaches. */
    do {
        i = feistel(key, bits / 2, bits - bits / 2, i);
    } while (i >= n);
    return i;
}
