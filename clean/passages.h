/* The paragraphs of a text that share words with held-out text. */
#ifndef CLEAN_PASSAGES_H
#define CLEAN_PASSAGES_H

#include "exclude.h"

/* One or several paragraphs, with the blank lines behind them. */
struct passage {
    size_t from, to;        /* byte range in the text */
    struct exclude_hit hit; /* the first gram in it */
};
/* { 0 }: there are none; may be used again. */
struct passages {
    struct passage *v; /* [n] in order */
    size_t n, cap;
    struct buf rest; /* the text without them */
    int all;         /* 1: the whole text has to go, and there is no rest */
    struct exclude_hit why; /* if so: because of this gram */
};

/*
 * Find the paragraphs, between blank lines, that share words.  Words that end
 * in a paragraph but begin in one that goes before it are no reason.  The
 * whole text has to go if it shares words with an item (exclude.h), if these
 * paragraphs have half of its bytes, and if the rest shares words where they
 * stood.  Returns 1; 0 if nothing is shared.
 */
int passages_find(struct passages *p, const struct exclude *x, struct words *w,
    const char *text, size_t n);
void passages_release(struct passages *p);

#endif
