/* Rows of recorded batches, in stored order or shuffled. */
#ifndef STREAM_ROWS_H
#define STREAM_ROWS_H

#include "feed.h"
#include "sampler_dirs.h"

/* A feed of the rows of d, which, like spec, must stay.  NULL and *e on damage.
 */
struct feed *rows_feed(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e);

#endif
