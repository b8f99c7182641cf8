/*
 * Arrays of which each rank of a group holds a part.  They are gathered whole
 * into a few buffers, to be read.  A buffer keeps its array until it is needed
 * for another one, so that an array soon read again is not gathered again.
 *
 * All ranks make the same calls in the same order.
 */
#ifndef DIST_AHEAD_H
#define DIST_AHEAD_H

#include "dist/dist.h"

struct ahead_array {
    const void *own;  /* elements at[rank]..at[rank+1]-1, this rank's */
    const size_t *at; /* [n+1] as in dist_all_gather; NULL: no such array */
    size_t kind;      /* only buffers of this kind hold it */
};
struct ahead;
/* Make buffers for `count` arrays of elements of `size` bytes: for each kind
 * buffers[kind] (at least one) as large as its largest array.  array[] is
 * copied; the arrays own and at must outlive the struct. */
struct ahead *ahead_new(const struct dist_group *g,
    const struct ahead_array *array, size_t count, size_t size,
    const size_t *buffers, size_t kinds);
void ahead_free(struct ahead *x);
/* From here on the ranks of a node, a subgroup of g, keep a copy of each array
 * that was gathered, each rank a share, and gather the array from the copy
 * until ahead_changed. */
void ahead_keep(struct ahead *x, const struct dist_group *node);
/* Bytes of the buffers and copies. */
size_t ahead_bytes(const struct ahead *x);

/* Return array i, whole, at an address divisible by 64, valid until ahead_done.
 * It is a collective call unless a buffer holds the array.  Called again before
 * ahead_done it returns the same address. */
void *ahead_now(struct ahead *x, size_t i);
/* Hint that array i will be asked for next. */
void ahead_next(struct ahead *x, size_t i);
void ahead_done(struct ahead *x, size_t i);
/* The ranks' parts have new values: forget what was gathered. */
void ahead_changed(struct ahead *x);

#endif
