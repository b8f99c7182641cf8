/*
 * A heap of the k largest numbers of an array, with their indices.  The root
 * h[0] is the smallest of the k.
 */
#ifndef MODEL_HEAP_H
#define MODEL_HEAP_H

#include <stddef.h>
#include <stdint.h>

/* The key of z at index i.  A larger z has a larger key; of equal z the lower i
 * has the larger key. */
uint64_t heap_key(float z, size_t i);
/* The index that a key was made with. */
uint32_t heap_number(uint64_t key);
/* Put `key` into the heap h, which has n <= k keys, if it is among the k
 * largest so far.  Returns the new n. */
size_t heap_keep(uint64_t *h, size_t n, size_t k, uint64_t key);
/* Move h[i] down to its place in the heap of n keys. */
void heap_sink(uint64_t *h, size_t n, size_t i);
/* Sort a heap of n keys, the largest first. */
void heap_sort(uint64_t *h, size_t n);

#endif
