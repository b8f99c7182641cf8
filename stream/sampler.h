/*
 * The order of documents.  A place (epoch, block, number) in a source is enough
 * to find a document, so that a cursor only has to hold places.
 *
 *   An epoch is one pass over one source.  The frames that hold documents of
 *   the source are put into a keyed order, new in every epoch.  K consecutive
 *   frames are a block, whose documents are put into a keyed order.
 *
 * K = max(4, open / number of sources).  So about `open` frames are in memory
 * (more if the sources are many), and two neighbouring documents end up to K
 * frames apart.  Without shuffling both orders are the stored ones.  At the
 * start only a list of each source's frames is made.
 *
 * Threads decode frames ahead, as long as all fit into `mem` bytes: first those
 * of the open blocks, then those of the next blocks, each in the order in which
 * they are needed.  The documents drawn do not depend on the threads.
 */
#ifndef STREAM_SAMPLER_H
#define STREAM_SAMPLER_H

#include "base/err.h"
#include "ahead.h"
#include "sampler_dirs.h"

#include <stddef.h>
#include <stdint.h>

/* The next token of a source: token `off` of a document. */
struct place {
    uint64_t epoch, block, doc, off;
};

/* A document; its pointers are valid until the next call with the sampler. */
struct sampled {
    uint32_t frame, doc; /* reference to the document: `frame` counts the frames
                          * that hold documents of the source, `doc` the
                          * source's documents in the frame; both in stored
                          * order */
    size_t len;          /* tokens */
    uint64_t key;
    const unsigned char *ids; /* [len] u16 if the vocabulary is <= 65536, else
                               * u32; see sampler_id_size */
    const uint8_t *mask;      /* [len] loss mask; NULL: every token counts */
};

struct sampler_opts {
    size_t open; /* number of frames, see above */
    uint64_t seed;
    int shuffle;
    size_t mem;     /* bytes of memory for frames */
    size_t threads; /* threads that read ahead; 0: none */
    int lengths;    /* 1: read only the indexes: ids and mask of a document
                     * are NULL, key is 0 */
};
struct sampler;
/* The directories must hold documents and outlive the sampler, which alone may
 * read them.  NULL and *e: an index is damaged. */
struct sampler *sampler_new(const struct dirs *d, const struct sampler_opts *o,
    struct err *e);
void sampler_free(struct sampler *s);

/* The largest `open` with which the open blocks take at most half of `mem`
 * bytes, so that the next blocks fit too; at least 4 per source.  0 and *e: the
 * data is damaged. */
size_t sampler_fit(const struct dirs *d, size_t mem, struct err *e);

size_t sampler_id_size(const struct sampler *s); /* 2 or 4; 0 with lengths */
uint64_t sampler_docs(const struct sampler *s, size_t source);
uint64_t sampler_tokens(const struct sampler *s, size_t source);
size_t sampler_open(const struct sampler *s);  /* K */
size_t sampler_bytes(const struct sampler *s); /* bytes of all open blocks */
/* Expected distance, in the order of a source, of two documents that are
 * neighbours on disk; full: the distance in a full shuffle. */
struct sampler_distance {
    double expected, full; /* documents, mean over all neighbours */
};
void sampler_distance(const struct sampler *s, struct sampler_distance *r);
void sampler_times(struct sampler *s, struct ahead_times *t);

/* Is there a document at place p? */
int sampler_valid(const struct sampler *s, size_t source,
    const struct place *p);
/* Open the block of the valid place p, so that threads may read it: the caller
 * will ask for documents from p on. */
void sampler_expect(struct sampler *s, size_t source, const struct place *p);
/* Get the document at a valid place, or by its reference.  -1: damage, or no
 * document has this reference. */
int sampler_at(struct sampler *s, size_t source, const struct place *p,
    struct sampled *r, struct err *e);
int sampler_ref(struct sampler *s, size_t source, uint32_t frame, uint32_t doc,
    struct sampled *r, struct err *e);
/* Move p to the next document, perhaps in the next block or epoch. */
void sampler_step(struct sampler *s, size_t source, struct place *p);

#endif
