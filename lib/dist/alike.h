/*
 * Compares what all ranks must have in common, such as options, before they
 * begin: ranks that differ would wait for one another without end, or make a
 * result that no option describes.
 */
#ifndef DIST_ALIKE_H
#define DIST_ALIKE_H

#include "dist/dist.h"

/* Called by all ranks of g.  text: lines NAME, tab, VALUE, newline, with the
 * same names in the same order on all ranks.  0 if the texts are equal; else -1
 * and *e (code), equal on all ranks, with the first NAME whose values differ,
 * the first rank that differs from rank 0, and both values.  Only a hash of the
 * text is gathered where all are equal. */
int dist_alike(const struct dist_group *g, const char *text, int code,
    struct err *e);

#endif
