/*
 * The order of recorded rows.  The messages that begin in a frame are a group,
 * which is decoded as a whole.  Each epoch puts the groups into a keyed order.
 * K consecutive groups are a block, whose rows are put into a keyed order.
 * Without shuffling both orders are the stored ones, and K is 1.
 *
 * Threads decode groups ahead, as long as all fit into memory: first those of
 * the open block, then those after it.  The order of rows does not depend on
 * threads.
 */
#ifndef STREAM_GROUPS_H
#define STREAM_GROUPS_H

#include "feed.h"
#include "sampler_dirs.h"

/* A batch in memory. */
struct held_batch {
    struct msg m;
    struct st st;       /* tensors of m */
    unsigned char *mem; /* holds the message, cap bytes */
    size_t cap;
    size_t dir;  /* index of its shard directory */
    size_t rows; /* rows of the batch */
};

struct groups;
/* Of spec, the members open (K), seed, shuffle, length and limit are used.
 * NULL and *e: the data is damaged, or there are no rows. */
struct groups *groups_new(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e);
void groups_free(struct groups *g);
uint64_t groups_rows(const struct groups *g); /* rows of an epoch */
uint64_t groups_tokens(const struct groups *g);
/* From the beginning of an epoch, skip blocks as long as the next block has
 * fewer tokens than *left, and subtract its tokens from *left.  Returns the
 * number of rows skipped.  Call it before rows are asked for. */
uint64_t groups_skip(struct groups *g, uint64_t epoch, uint64_t *left);
/* Find row i of an epoch: returns the batch that holds it, and sets *row to its
 * number in the batch. */
const struct held_batch *groups_find(struct groups *g, uint64_t epoch,
    uint64_t i, size_t *row, struct err *e);
void groups_times(struct groups *g, struct ahead_times *t);
/* groups_bytes: mean size of K groups. groups_distance: expected distance in
 * the order, in rows, of two rows that are neighbours on disk. */
double groups_bytes(const struct groups *g);
double groups_distance(const struct groups *g);
/* Find the largest `open` with which the frames shuffled together take at most
 * half of `mem` bytes, so that the next block's frames fit too; at least 1.  0
 * and *e: the data is damaged. */
size_t groups_fit(const struct dirs *d, size_t mem, struct err *e);

#endif
