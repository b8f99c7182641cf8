/*
 * Which segments of messages are the fastest here?  Reduce-scatters of all
 * ranks are cut into each of some lengths in turn, a step each, which changes
 * no bits; then all ranks go on with one of them.
 */
#ifndef DIST_TUNE_H
#define DIST_TUNE_H

#include <stddef.h>

enum { TUNE_TRIED = 5 };
struct tuned {
    size_t chosen;              /* which of them */
    size_t segment[TUNE_TRIED]; /* elements */
    double gbs[TUNE_TRIED]; /* GB/s of the whole arrays: the slowest rank's best
                             * of the steps that tried it */
};

/* After dist_begin, by all ranks; of one there is nothing to try. */
void tune_begin(void);
/* A step is over.  1: it was the last one needed, and *t tells what the segment
 * is from here on; the same on all ranks.  0 otherwise. */
int tune_step(struct tuned *t);

/* Private to lib/dist: is it tried?  The longest segment.  So many elements
 * took so many seconds. */
int tune_on(void);
size_t tune_most(void);
void tune_add(size_t elements, double seconds);

#endif
