/* Finds the paragraphs of a document that contain words of held-out text. */
#ifndef CLEAN_PASSAGES_H
#define CLEAN_PASSAGES_H

#include "exclude.h"

/* A run of paragraphs to remove, with the blank lines after it. */
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
 * Find the paragraphs (separated by blank lines) that share words with held-out
 * text.  A gram that begins in a paragraph found before does not count again.
 * The whole text is dropped if it shares words with an item (exclude.h), if
 * these paragraphs have at least half of its bytes, or if the rest, joined,
 * shares words.  Returns 1; 0 if nothing is shared.
 */
int passages_find(struct passages *p, const struct exclude *x, struct words *w,
    const char *text, size_t n);
void passages_release(struct passages *p);

#endif
