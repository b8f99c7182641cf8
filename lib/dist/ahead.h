/*
 * Arrays that are split over the ranks of a group.  To be read, an array is
 * gathered whole into one of a few buffers.  An array stays in its buffer until
 * the buffer is needed for another one, so that an array soon read again is not
 * gathered again.
 *
 * All ranks make the same calls in the same order.
 */
#ifndef DIST_AHEAD_H
#define DIST_AHEAD_H

#include "dist/dist.h"

struct ahead_array {
    const void *own;  /* this rank's part: elements at[rank]..at[rank+1]-1 */
    const size_t *at; /* [n+1] where the ranks' parts begin, as in
                       * dist_all_gather; NULL: no such array */
    size_t kind;      /* kind of the buffers that may hold it, < kinds */
};
struct ahead;
/* Make buffers for `count` arrays, whose elements have `size` bytes.  Of each
 * kind there are buffers[kind] >= 1 buffers, as large as the largest array of
 * that kind.  array[] is copied; its `own` and `at` must outlive the struct. */
struct ahead *ahead_new(const struct dist_group *g,
    const struct ahead_array *array, size_t count, size_t size,
    const size_t *buffers, size_t kinds);
void ahead_free(struct ahead *x);
/* From here on the ranks of a node, a subgroup of g, together keep a copy of
 * each array that they have gathered, a share in each rank.  Until
 * ahead_changed they gather the array from these shares. */
void ahead_keep(struct ahead *x, const struct dist_group *node);
/* Bytes of the buffers and of this rank's shares of copies. */
size_t ahead_bytes(const struct ahead *x);

/* Return array i, whole, at an address divisible by 64.  It is valid until
 * ahead_done; a call before that returns the same address.  If no buffer holds
 * the array, all ranks gather it now. */
void *ahead_now(struct ahead *x, size_t i);
/* Hint that array i will be asked for next.  If dist_overlap has succeeded, the
 * array is gathered in the background; else nothing happens. */
void ahead_next(struct ahead *x, size_t i);
void ahead_done(struct ahead *x, size_t i);
/* The ranks' parts have new values: forget what was gathered. */
void ahead_changed(struct ahead *x);

#endif
