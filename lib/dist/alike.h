/*
 * Compares what must be the same on all ranks, such as options, before they
 * begin.  Ranks that differ would wait for one another without end, or make a
 * result that no options describe.
 */
#ifndef DIST_ALIKE_H
#define DIST_ALIKE_H

#include "dist/dist.h"

/* Called by all ranks of g.  text: lines of NAME, tab, VALUE, newline, with the
 * same names in the same order on all ranks.
 * 0: the texts are equal; ranks have sent only a hash.
 * -1: they differ.  *e, the same on all ranks, has `code` and names the first
 * rank that differs from rank 0, the first NAME with different values on these
 * two ranks, and both values. */
int dist_alike(const struct dist_group *g, const char *text, int code,
    struct err *e);

/* Set hex to the hash of the file or folder at path, which `hash` computes;
 * path NULL: to "".  Call it on all ranks.  The first rank of a node hashes its
 * file and sends the hash to the node's other ranks; they hash only files other
 * than that one.  -1 and *e: `hash` failed. */
int dist_hash(const char *path,
    int (*hash)(const char *path, char hex[33], struct err *e), char hex[33],
    struct err *e);

#endif
