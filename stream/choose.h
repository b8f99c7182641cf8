/*
 * Decides the content of the stream by the options, the cursor of the stream
 * that is resumed, and the defaults.  Options that contradict that cursor end
 * the program.
 */
#ifndef STREAM_CHOOSE_H
#define STREAM_CHOOSE_H

#include "cursor.h"
#include "sampler_dirs.h"
#include "format/ckpt.h"

/* The options that determine content, and --mem; OPT_NONE, NAN, -1, NULL or 0:
 * not given. */
struct given {
    size_t B, T, seed, open;
    size_t length[3]; /* by enum length */
    double alpha, unimax;
    int pack;
    const char *weights, *curriculum, *rank;
    int shuffle, no_shuffle;
    size_t mem;
};

/* The position at which a stream is resumed. */
struct resume {
    const char *run;
    int is;             /* 0: there is no position, or no run */
    struct cursor from; /* the cursor in it */
    struct position at; /* the position of the consumer */
};

/* The newest position of run.  Ends the program when it cannot be resumed. */
void resume_read(struct resume *s, const char *run, const struct given *g);
void resume_release(struct resume *s);
/* Fill *c, whose old content is not looked at: algorithm, data and spec. The
 * caller frees with curriculum_release and free(c->spec.w). */
void choose_cursor(struct cursor *c, const struct given *g,
    const struct dirs *d, const struct resume *from);

#endif
