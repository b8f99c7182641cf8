/*
 * Decides the content of the stream from the options, the cursor of the resumed
 * stream, and the defaults.  Dies if an option contradicts the cursor.
 */
#ifndef STREAM_CHOOSE_H
#define STREAM_CHOOSE_H

#include "cursor.h"
#include "sampler_dirs.h"
#include "format/ckpt.h"

/* The options that determine content, and --mem.  Not given: OPT_NONE, NAN, -1,
 * NULL or 0. */
struct given {
    size_t B, T, seed, open;
    size_t length[3]; /* --batches, --tokens, --epochs, by enum length */
    double alpha, unimax;
    int pack;
    const char *weights, *curriculum, *rank;
    int shuffle, no_shuffle;
    size_t mem;
};

/* The position at which a stream is resumed. */
struct resume {
    const char *run;    /* the path that --resume names */
    int is;             /* 1: a cursor was found */
    struct cursor from; /* the cursor of `at`, parsed, if `is` */
    struct position at; /* the consumer's position */
};

/* Read the newest position that `run` holds.  said: 1 if an option is given
 * that determines content.  Dies if no stream can be resumed there. */
void resume_read(struct resume *s, const char *run, int said);
void resume_release(struct resume *s);
/* Overwrite *c, and set its algorithm, data and spec.  The caller frees the
 * spec by curriculum_release and free(c->spec.w). */
void choose_cursor(struct cursor *c, const struct given *g,
    const struct dirs *d, const struct resume *from);

#endif
