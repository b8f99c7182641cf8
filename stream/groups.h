/*
 * The order of recorded rows.  The messages that begin in one frame are a
 * group, which is decoded as a whole.  In an epoch the groups are put into a
 * keyed order; K of them in a row are a block, whose rows are put into a keyed
 * order.  Without shuffling both orders are the stored ones, and K is 1.
 *
 * Threads decode groups ahead: those of the block, then those after it, as
 * long as all fit into memory.  What is read does not depend on them.
 */
#ifndef STREAM_GROUPS_H
#define STREAM_GROUPS_H

#include "feed.h"
#include "sampler_dirs.h"

/* A batch in memory. */
struct held_batch {
    struct msg m;
    struct st st;       /* memory of m.st */
    unsigned char *mem; /* of the message */
    size_t cap;
    size_t dir; /* of its shard */
    size_t rows;
};

struct groups;
/* spec: open (K), seed, shuffle and length are used.  NULL and *e on damage, or
 * when there are no rows. */
struct groups *groups_new(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e);
void groups_free(struct groups *g);
uint64_t groups_rows(const struct groups *g); /* of an epoch */
uint64_t groups_tokens(const struct groups *g);
/* Skip whole blocks at the beginning of an epoch while they have fewer tokens
 * than *left, which is reduced by theirs; returns their rows.  To be called
 * before rows are asked for. */
uint64_t groups_skip(struct groups *g, uint64_t epoch, uint64_t *left);
/* Find row number i of an epoch: the batch that holds it, and *row in it. */
const struct held_batch *groups_find(struct groups *g, uint64_t epoch,
    uint64_t i, size_t *row, struct err *e);
void groups_times(struct groups *g, struct ahead_times *t);
/* groups_bytes: mean bytes of K groups.  groups_distance: expected distance, in
 * rows of the order, of rows that are neighbours on disk. */
double groups_bytes(const struct groups *g);
double groups_distance(const struct groups *g);
/* The largest `open` of shuffled rows whose frames take half of mem bytes, so
 * that the next ones fit beside them; 0 and *e on damage. */
size_t groups_fit(const struct dirs *d, size_t mem, struct err *e);

#endif
