/*
 * How are sums of gradients cut so that they are the fastest here?  The length
 * of segments is tried first, then, by the best of them, how many go round at
 * once: in each step another one, which changes no bits.  Then all ranks go on
 * with the best.
 *
 * Buckets of several blocks of a model are not tried.  A block is millions of
 * numbers in a row already: to begin its sum takes microseconds, the sum
 * milliseconds; and where ranks have parts of gradients, several blocks would
 * have to be whole at once.
 */
#ifndef DIST_TUNE_H
#define DIST_TUNE_H

#include <stddef.h>

enum tune_what { TUNE_SEGMENT, TUNE_RINGS, TUNE_KINDS };
enum { TUNE_TRIED = 5 };
struct tuned {
    size_t n, chosen;         /* how many were tried, which is the best */
    size_t value[TUNE_TRIED]; /* as of dist_segment or dist_rings */
    double gbs[TUNE_TRIED];   /* GB/s of the whole arrays: the slowest rank's
                               * best of the steps that tried it */
};

/* "segment", "rings". */
const char *tune_name(enum tune_what what);
/* After dist_begin, by all ranks; of one there is nothing to try.  rings: are
 * there any, that is sums by DIST_RING? */
void tune_begin(int rings);
/* A step is over.  If it was the last one needed, what was found [TUNE_KINDS],
 * the same on all ranks; else NULL. */
const struct tuned *tune_step(void);
/* Have what was found before, by all ranks.  -1: it is none that is tried. */
int tune_use(enum tune_what what, size_t value);

/* Private to lib/dist: are they tried?  The largest value.  So many elements
 * took so many seconds. */
int tune_on(void);
size_t tune_most(enum tune_what what);
void tune_add(size_t elements, double seconds);

#endif
