/* A feed of the rows of recorded batches, in stored order or shuffled. */
#ifndef STREAM_ROWS_H
#define STREAM_ROWS_H

#include "feed.h"
#include "sampler_dirs.h"

/* Make a feed of the rows of d; d and spec must outlive it.  NULL and *e: the
 * data is damaged, or the open frames do not fit into memory. */
struct feed *rows_feed(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e);

#endif
