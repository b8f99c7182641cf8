/*
 * Frames of the sampler in memory, read on demand and ahead of it.
 *
 * sampler.c knows the order and which frames are wanted; sampler_load.c brings
 * them into memory.  The lock of struct ahead protects everything below but
 * the members marked "order", which do not change.
 */
#ifndef STREAM_SAMPLER_LOAD_H
#define STREAM_SAMPLER_LOAD_H

#include "sampler.h"
#include "sampler_room.h"

/* Where a document of a part begins, in tokens. */
struct part_doc {
    uint64_t off, key;
};

/* Decoded documents of one source in one frame.  doc and ids point into the
 * same allocation. */
struct part {
    size_t n;             /* documents */
    struct part_doc *doc; /* [n+1] */
    unsigned char *ids;   /* NULL: lengths only */
    uint8_t *mask;        /* or NULL */
    size_t own, bytes;    /* bytes of the allocation, without and with the
                           * mask */
};

struct frame_ref {
    uint32_t dir, shard, frame, ndoc;
    uint64_t tokens;
};

/* Where a document that comes soon lies, to prefetch its cache lines. */
enum { SOON = 4 };
struct soon {
    uint64_t doc; /* number in the block; UINT64_MAX: none */
    uint32_t frame, in_frame;
};

struct source {
    struct frame_ref *frame; /* order: in stored order */
    struct part **part;      /* [nframe], NULL: not in memory */
    size_t nframe, cap;      /* order */
    uint64_t docs, tokens;   /* order */
    /* The block in memory. */
    int open;
    uint64_t epoch, block;
    uint32_t *member; /* [2K] numbers of the block's frames, then of the frames
                       * of the block after it */
    uint64_t *upto;   /* [K+1] documents before member i */
    size_t nmember, nnext;
    uint32_t *want;         /* [2K] members in the order in which they are
                             * read */
    uint64_t *first;        /* [K] the first document that is in want[i] */
    size_t ready;           /* frames want[0..ready-1] are in memory */
    uint64_t at, drawn;     /* documents drawn: number of the last in this
                             * block; count in this run */
    struct soon soon[SOON]; /* documents of this block, by number % SOON */
};

/* The state of a thread that decodes a frame for all sources that want
 * documents of it; number 0 is the caller's. */
struct decoder {
    struct sampler *s;
    struct shard_buf *buf; /* of its struct ahead_worker */
    int busy;              /* `frame` is being decoded */
    struct frame_ref frame;
    size_t nsource;     /* sources that want the frame */
    size_t *source;     /* [nsource] their numbers */
    uint32_t *number;   /* [nsource] number of the frame among those of each
                         * source */
    struct part **part; /* [nsource] decoded documents of each source */
    size_t *place;      /* [nsrc] place of a source in source[], if there */
};

struct sampler {
    const struct dirs *d; /* order, to `lengths` */
    size_t nsrc, K, id_size, id_room;
    uint64_t seed;
    int shuffle, lengths;
    struct source *src;
    struct ahead ahead;
    struct decoder *decoder; /* [ndecoder], as those of ahead */
    size_t ndecoder;
    struct room memory;
    size_t held, mem;       /* bytes of all parts, and their limit */
    struct source *visited; /* a frame outside the block of this source,
                             * which */
    uint32_t visitor;       /* sampler_ref has loaded; NULL: none */
};

/* Bytes of a part without a mask. */
size_t part_bytes(const struct sampler *s, const struct frame_ref *f);
/* Free part k of a source, if it is there. */
void part_drop(struct sampler *s, struct source *c, uint32_t k);
/* Is frame number k of the open block, or of the one after it? */
int is_member(const struct source *c, uint32_t k);
/* Frame number k of a source into memory for the caller.  -1 on damage. */
int part_need(struct sampler *s, size_t source, uint32_t k, struct err *e);
/* A step of a thread: see struct ahead. */
int decoder_step(void *sampler, size_t i, struct err *e);

#endif
