/*
 * The sampler's frames in memory.
 *
 * sampler.c decides the order, and which frames are wanted. sampler_load.c
 * reads them, on demand and ahead.  The lock of struct ahead protects all
 * members below except those marked "order", which do not change.  Two things
 * happen without the lock: a worker uses a decoder that it has marked `busy`,
 * and fills its parts; and the caller, which alone frees the parts of sources,
 * reads them.
 */
#ifndef STREAM_SAMPLER_LOAD_H
#define STREAM_SAMPLER_LOAD_H

#include "sampler.h"
#include "sampler_room.h"

/* A document of a part; off: index of its first token in the part. */
struct part_doc {
    uint64_t off, key;
};

/* The decoded documents of one source in one frame.  doc and ids point into the
 * allocation of the struct. */
struct part {
    size_t n;             /* documents */
    struct part_doc *doc; /* [n+1]; doc[n].off: number of tokens of all
                           * documents */
    unsigned char *ids;   /* NULL: lengths only */
    uint8_t *mask;        /* loss mask, allocated apart; NULL: all tokens
                           * count */
    size_t own, bytes;    /* bytes of the allocation, without and with mask */
};

struct frame_ref {
    uint32_t dir, shard, frame, ndoc; /* ndoc: documents of the source in it */
    uint64_t tokens;
};

/* The position of a document that will be drawn soon, for prefetching. */
enum { SOON = 4 };
struct soon {
    uint64_t doc; /* number in the block; UINT64_MAX: unused */
    uint32_t frame, in_frame;
};

struct source {
    struct frame_ref *frame; /* [nframe] "order": frames in stored order */
    struct part **part;      /* [nframe] decoded documents; NULL: not in
                              * memory */
    size_t nframe, cap;      /* "order" */
    uint64_t docs, tokens;   /* "order" */
    /* The block in memory. */
    int open;
    uint64_t epoch, block;
    uint32_t *member; /* [2K] indices of the block's frames, then of the next
                       * block's */
    uint64_t *upto;   /* [K+1] documents before each member */
    size_t nmember, nnext;
    uint32_t *want;         /* [2K] members in the order in which threads
                             * read them */
    uint64_t *first;        /* [K] number, in the block, of the first document
                             * that frame want[i] gives; or a lower bound */
    size_t ready;           /* frames want[0..ready-1] are in memory */
    uint64_t at, drawn;     /* number in the block of the last document drawn;
                             * documents drawn in this run */
    struct soon soon[SOON]; /* documents of the block, by number % SOON */
};

/* The frame that a worker decodes, for all sources that want documents of it.
 * Worker 0 is the caller. */
struct decoder {
    struct sampler *s;
    struct shard_buf *buf; /* the buffer of the worker's struct ahead_worker */
    int busy;              /* `frame` is being decoded */
    struct frame_ref frame;
    size_t nsource;     /* sources that want the frame */
    size_t *source;     /* [nsource] numbers of these sources */
    uint32_t *number;   /* [nsource] index of the frame in each source's list */
    struct part **part; /* [nsource] documents decoded for each source */
    size_t *place;      /* [nsrc] index in source[] of each source that wants
                         * the frame */
};

struct sampler {
    const struct dirs *d; /* "order", as all members down to `lengths` are */
    size_t nsrc, K, id_size, id_room;
    uint64_t seed;
    int shuffle, lengths;
    struct source *src;
    struct ahead ahead;
    struct decoder *decoder; /* [ndecoder] one per worker */
    size_t ndecoder;
    struct room memory;
    size_t held;            /* bytes of all parts */
    size_t mem;             /* most bytes of all parts */
    struct source *visited; /* source of a frame outside its block that
                             * sampler_ref has loaded; NULL: none */
    uint32_t visitor;       /* number of that frame in the source */
};

/* Bytes of a part, without a mask. */
size_t part_bytes(const struct sampler *s, const struct frame_ref *f);
/* Free part k of a source if it is in memory. */
void part_drop(struct sampler *s, struct source *c, uint32_t k);
/* Is frame k of the source in the open block or the next? */
int is_member(const struct source *c, uint32_t k);
/* Bring frame k of a source into memory, for the caller.  -1: damage. */
int part_need(struct sampler *s, size_t source, uint32_t k, struct err *e);
/* The step function of struct ahead. */
int decoder_step(void *sampler, size_t i, struct err *e);

#endif
