/* Rows packed from documents. */
#ifndef STREAM_DOCS_H
#define STREAM_DOCS_H

#include "feed.h"
#include "sampler_dirs.h"

/* A feed of the documents of d, which, like spec, must stay.  Weights of spec
 * are those of the sources.  NULL and *e on damage. */
struct feed *docs_feed(const struct dirs *d, const struct cursor_spec *spec,
    const struct feed_means *how, struct err *e);

#endif
