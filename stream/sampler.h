/*
 * The order of documents.  A document is found from a place (source, epoch,
 * block, number) alone, so that a place is all that a cursor must hold:
 *
 *   An epoch is one pass over one source.  The frames that hold documents of
 *   the source are put into a keyed order, new in every epoch; K of them in a
 *   row are a block; the documents of a block are put into a keyed order.
 *
 * K = max(4, open / number of sources), so about `open` frames are in memory
 * at least; two documents that were neighbours end up to K frames apart.
 * Without shuffling both orders are the stored ones.  Nothing is built at
 * start but a list of frames a source.
 *
 * Threads decode frames ahead: those of the open blocks, then those of the
 * blocks after them, what is needed first before the others, as long as all
 * fit into `mem` bytes.  What is drawn does not depend on them.
 */
#ifndef STREAM_SAMPLER_H
#define STREAM_SAMPLER_H

#include "base/err.h"
#include "ahead.h"
#include "sampler_dirs.h"

#include <stddef.h>
#include <stdint.h>

/* The next token of a source: off tokens into a document. */
struct place {
    uint64_t epoch, block, doc, off;
};

/* A document; the pointers hold until the next call with the sampler. */
struct sampled {
    uint32_t frame, doc; /* reference: doc-th of the source in the frame-th
                             * frame that has any, both in stored order */
    size_t len;          /* tokens */
    uint64_t key;
    const unsigned char *ids; /* u16 where the vocabulary is <= 65536, else
                                 * u32; see sampler_id_size */
    const uint8_t *mask;      /* [len], or NULL: every token counts */
};

struct sampler_opts {
    size_t open; /* frames, see above */
    uint64_t seed;
    int shuffle;
    size_t mem;     /* bytes that frames read ahead may fill up */
    size_t threads; /* that read ahead; 0: none */
    int lengths;    /* read no documents, only the indexes: ids and
                             * mask of what is drawn are NULL, key is 0 */
};
struct sampler;
/* The directories must hold documents and outlive the sampler, and nobody else
 * may read them meanwhile.  NULL and *e when an index is damaged. */
struct sampler *sampler_new(const struct dirs *d, const struct sampler_opts *o,
    struct err *e);
void sampler_free(struct sampler *s);

/* The largest `open` whose blocks take half of mem bytes, so that the next
 * blocks fit beside them; at least 4 a source.  0 and *e on damage. */
size_t sampler_fit(const struct dirs *d, size_t mem, struct err *e);

size_t sampler_id_size(const struct sampler *s); /* 2 or 4; lengths: 0 */
uint64_t sampler_docs(const struct sampler *s, size_t source);
uint64_t sampler_tokens(const struct sampler *s, size_t source);
size_t sampler_open(const struct sampler *s);  /* K */
size_t sampler_bytes(const struct sampler *s); /* of all open blocks */
/* Expected distance in the order of their source of two documents that are
 * neighbours on disk. */
struct sampler_distance {
    double expected, full; /* documents, mean over neighbours of all sources */
};
void sampler_distance(const struct sampler *s, struct sampler_distance *r);
void sampler_times(struct sampler *s, struct ahead_times *t);

/* Is there a document at that place? */
int sampler_valid(const struct sampler *s, size_t source,
    const struct place *p);
/* Documents from this valid place on will be asked for: open their block, so
 * that threads may read it. */
void sampler_expect(struct sampler *s, size_t source, const struct place *p);
/* The document at a valid place / by reference; -1 on damage. */
int sampler_at(struct sampler *s, size_t source, const struct place *p,
    struct sampled *r, struct err *e);
int sampler_ref(struct sampler *s, size_t source, uint32_t frame, uint32_t doc,
    struct sampled *r, struct err *e);
/* The place of the next document, perhaps in the next block or epoch. */
void sampler_step(struct sampler *s, size_t source, struct place *p);

#endif
