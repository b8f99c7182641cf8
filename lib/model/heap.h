/*
 * A heap of the k largest numbers of an array, with their indices; the smallest
 * of them is at the root h[0].
 */
#ifndef MODEL_HEAP_H
#define MODEL_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* Key of z at index i: larger for a larger z, and for equal z larger for a
 * lower i. */
uint64_t heap_key(float z, size_t i);
/* The index in a key. */
uint32_t heap_number(uint64_t key);
/* Put `key` into the heap h of n keys, at most k, if it is among the k largest
 * so far; returns the new n. */
size_t heap_keep(uint64_t *h, size_t n, size_t k, uint64_t key);
/* Move h[i] down to its place in the heap of n. */
void heap_sink(uint64_t *h, size_t n, size_t i);
/* Sort a heap of n, the largest first. */
void heap_sort(uint64_t *h, size_t n);

#endif
