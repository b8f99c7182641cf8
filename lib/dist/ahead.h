/*
 * Arrays that each rank of a group holds a part of: whole while they are read,
 * in a few buffers.  A buffer keeps its array until another one needs it, so
 * that one which is soon read again is not gathered again.
 *
 * All ranks make the same calls in the same order.
 */
#ifndef DIST_AHEAD_H
#define DIST_AHEAD_H

#include "dist/dist.h"

struct ahead_array {
    const void *own;  /* elements at[rank]..at[rank+1], this rank's */
    const size_t *at; /* [n+1] as of dist_all_gather; NULL: no such array */
    size_t kind;      /* the buffers of this kind may hold it */
};
struct ahead;
/* For `count` arrays of elements of `size` bytes: buffers[kind] buffers (one at
 * least) as large as the largest array of that kind.  array[] is copied; own
 * and at of each stay as long as the struct. */
struct ahead *ahead_new(const struct dist_group *g,
    const struct ahead_array *array, size_t count, size_t size,
    const size_t *buffers, size_t kinds);
void ahead_free(struct ahead *x);
/* From here on the ranks of a node, a part of g, keep a copy of each array that
 * was gathered, each rank a share, and gather the array from the copy until
 * ahead_changed. */
void ahead_keep(struct ahead *x, const struct dist_group *node);
/* Memory of buffers and copies. */
size_t ahead_bytes(const struct ahead *x);

/* Array i, whole, at an address divisible by 64, until ahead_done.  A
 * collective unless a buffer holds it; called again before ahead_done it
 * returns the same address. */
void *ahead_now(struct ahead *x, size_t i);
/* A hint: array i will be asked for next. */
void ahead_next(struct ahead *x, size_t i);
void ahead_done(struct ahead *x, size_t i);
/* The ranks' parts have new values: forget what was gathered. */
void ahead_changed(struct ahead *x);

#endif
