/* A feed of rows packed from documents. */
#ifndef STREAM_DOCS_H
#define STREAM_DOCS_H

#include "feed.h"
#include "sampler_dirs.h"

/* Make a feed of the documents of d with the sources' weights in spec; d and
 * spec must outlive it.  NULL and *e: the data is damaged, the open frames do
 * not fit into memory, or a source with a weight has no documents. */
struct feed *docs_feed(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e);

#endif
