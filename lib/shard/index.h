/*
 * The index of a shard.  It is made while the shard is written; readers map its
 * file and read it in place.  This header is for lib/shard and its tests;
 * programs get the index of an open directory from set_index and set_frames
 * (set.h).
 */
#ifndef LIB_SHARD_INDEX_H
#define LIB_SHARD_INDEX_H

#include "base/mem.h"
#include "msg/msg.h"
#include "shard/manifest.h"

#include <stddef.h>
#include <stdint.h>

#define SHARD_INDEX_HEAD 128 /* bytes of an index before its arrays */

/*
 * The index of one shard as in its file, little-endian: a header of 128 bytes,
 * then the four arrays below (retort-shard(5)).  Offsets called `raw` count
 * decompressed bytes from the start of the shard.
 */
struct shard_frame {
    uint64_t at;           /* offset of the frame in the shard file */
    uint64_t raw;          /* offset of its content */
    uint64_t hash;         /* XXH3-64 of the compressed frame */
    uint32_t csize, dsize; /* bytes of the frame, compressed and decompressed */
    uint32_t msg, nmsg;    /* number of the first message that begins in the
                            * frame; how many begin in it */
};
struct shard_msg {
    uint64_t raw, len; /* offset and length, bytes */
    uint64_t seq;
    uint64_t tokens; /* tokens without padding; 0 unless docs or batch */
    uint64_t first;  /* documents or rows of this shard before this message */
    uint32_t n;      /* documents of a docs message, rows of a batch; else 0 */
    uint32_t frame;  /* the frame in which it begins */
    uint32_t kind;   /* enum msg_kind */
    uint32_t zero;
};
struct shard_doc {     /* docs shards: every document, in order */
    uint32_t msg;      /* number of its message in the shard */
    uint32_t off, len; /* number of the document's first token in that message;
                        * number of its tokens */
    uint16_t source, zero;
};
struct shard_part { /* docs shards: sums for each frame and source, sorted by
                     * frame, then source */
    uint64_t tokens;
    uint32_t frame, ndoc;
    uint16_t source, zero[3];
};
struct shard_index {
    const struct shard_frame *frame;
    const struct shard_msg *msg;
    const struct shard_doc *doc;
    const struct shard_part *part;
    size_t nframe, nmsg, ndoc, npart;
    uint64_t bytes, raw; /* bytes of the shard file; of its content */
    uint64_t raw_at;     /* bytes of the content of all earlier shards */
    uint64_t first_seq;
    struct chain before, file;     /* hash H of the message before the
                                    * shard's first message; XXH3-128 of the
                                    * shard file */
    uint64_t table_at, table_hash; /* offset of the seek table, and its
                                    * XXH3-64 */
};

_Static_assert(sizeof(struct shard_frame) == 40, "as in the file");
_Static_assert(sizeof(struct shard_msg) == 56, "as in the file");
_Static_assert(sizeof(struct shard_doc) == 16, "as in the file");
_Static_assert(sizeof(struct shard_part) == 24, "as in the file");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
    "the index is mapped as it is");

/* The arrays of an index that is being made. */
struct index_make {
    struct buf frame, msg, doc, part;
    uint64_t docs; /* documents or rows so far */
};
void index_make_clear(struct index_make *x);
void index_make_release(struct index_make *x);
/* Add message m, which begins at offset raw, in `frame`, and has `tokens`
 * tokens.  Its documents (or pieces) and tokens are added to per_source
 * ([nsource], may be NULL). */
void index_make_msg(struct index_make *x, const struct msg *m, uint64_t raw,
    uint64_t tokens, size_t frame, struct shard_source *per_source);
void index_make_frame(struct index_make *x, uint64_t at, uint64_t raw,
    const void *comp, size_t csize, size_t dsize, size_t msg, size_t nmsg);
/* Make x->part.  Call after the last message and frame. */
void index_make_parts(struct index_make *x);
/* Append the whole index file to b. */
void index_make_file(const struct index_make *x, const struct shard_index *h,
    struct buf *b);
/* Let *x point into p[n], an index, and check its structure, so that later
 * accesses need no checks. */
int index_view(struct shard_index *x, const unsigned char *p, size_t n,
    struct err *e);

/* index_view in two steps: index_view_frames does all but the documents, whose
 * bytes it does not read; index_check_docs checks these. */
int index_view_frames(struct shard_index *x, const unsigned char *p, size_t n,
    struct err *e);
int index_check_docs(const struct shard_index *x, struct err *e);
/* Set *at and *bytes to the place of the documents, as the header gives it.
 * Nothing else of the header is checked. */
void index_docs_at(const unsigned char *p, size_t n, size_t *at, size_t *bytes);
/* XXH3-128 of an index without its documents: of everything needed to find
 * frames. */
void index_frames_hash(const unsigned char *p, size_t n, size_t ndoc,
    size_t npart, struct chain *c);

#endif
