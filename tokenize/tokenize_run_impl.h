/* What the two files of running share; see tokenize_run.h: tokenize_run.c has
 * the threads, tokenize_long.c documents that are too long to be held. */
#ifndef TOKENIZE_RUN_IMPL_H
#define TOKENIZE_RUN_IMPL_H

#include "tokenize_run.h"

#include <pthread.h>

struct worker {
    struct tok_scratch *scratch;
    struct norm *norm;
    struct buf mend, wiki;
};

struct block {
    struct doc *doc;
    size_t n, cap;
    struct origin **from;           /* of its documents, held */
    size_t nfrom, capfrom;
    size_t text;                    /* bytes */
    double done;                    /* of all inputs, after it */
    struct err e;                   /* of reading, after its documents */
    int ready;
    int parted;                     /* its one document is a parted one */
};

struct run {
    const struct inputs *in;
    const struct run_opts *o;
    struct run_sums *sum;
    struct worker *worker;          /* one a thread */
    struct block *block;            /* a ring of nblock */
    size_t nblock;
    struct sections sections;
    /* By the thread that reads: */
    struct reader *reader;
    size_t input;
    double done;                    /* of the inputs before */
    int before;                     /* not yet at o->from */
    struct doc held;                /* begins the next block */
    int has_held;
    struct norm *norm;              /* for where parts end, or NULL */
    /* Under the lock: */
    pthread_mutex_t lock;
    pthread_cond_t change;
    uint64_t nread, nput;           /* blocks */
    uint64_t nsettled, ndecided;    /* blocks */
    size_t flight;                  /* bytes of text of nput..nread */
    int reading, putting;
    int ended, stopped;             /* no more to read; nothing to put */
    /* By the thread that puts: of the document's sections so far */
    size_t prior, all;
    int nfc;
    /* ... at the end: */
    int result;
    struct err e;
};

/* The next record, or a section, into b->doc[b->n]: 1, 0 at the end of all
 * inputs, -1. */
int run_record(struct run *r, struct block *b, struct err *e);
/* Find the text of b's section d, in memory of d or of w: 0, or -1 and d->e. */
int run_text(struct run *r, struct doc *d, struct worker *w,
    const char **text, size_t *n);
/* Count characters and words of text[n]; *inside: it continues a word, then
 * whether what follows it does. */
void run_count(struct doc *d, const char *text, size_t n, int *inside);
/* The key of d, see DESIGN section 3. */
uint64_t run_key(const struct run *r, const struct doc *d);
/* Count and put d.  0, 1 or -1 as o->put. */
int run_put(struct run *r, struct doc *d);

/*
 * Read, clean, encode and put the document that begins with the parted section
 * b->doc[0], all by this thread, in memory of a fixed size.  All that comes
 * before it has been put.  0, 1 or -1 as o->put.
 */
int run_long(struct run *r, struct block *b, size_t worker);

#endif
