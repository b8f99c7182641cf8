/*
 * Frames: independently compressed pieces of a shard, each a zstd or lz4 frame
 * with a content checksum (lz4: block checksums too).  After the last one comes
 * the seek table, a skippable frame that zstd -d and lz4 -d ignore ("zstd
 * seekable format" 0.1.0, zstd/contrib/seekable_format).
 */
#ifndef FORMAT_FRAME_H
#define FORMAT_FRAME_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

enum codec { CODEC_ZSTD, CODEC_LZ4 };
extern const char *const codec_names[]; /* "zstd", "lz4", NULL */
const char *codec_suffix(enum codec c); /* ".zst", ".lz4" */
/* Levels 1..codec_level_max; 0 asks for the default (zstd 3, lz4 1). */
int codec_level_max(enum codec c);
int codec_level_default(enum codec c);

#define FRAME_MAX ((size_t)1 << 30) /* content of one frame, bytes */

/* A frame with more than FRAME_FREE bytes of content may have at most
 * FRAME_RATIO bytes of content for each compressed byte: otherwise a few bytes
 * of a file could ask for any amount of memory.  Frames beyond this limit are
 * neither written nor read. */
#define FRAME_FREE ((size_t)16 << 20)
#define FRAME_RATIO 1000
static inline int
frame_is_backed(uint64_t csize, uint64_t dsize)
{
    return dsize <= FRAME_FREE || dsize / FRAME_RATIO <= csize;
}

struct frame_enc;
struct frame_enc *frame_enc_new(enum codec c, int level);
/* Append one frame holding src[n], 0 < n <= FRAME_MAX, to out. */
int frame_encode(struct frame_enc *f, const void *src, size_t n,
    struct buf *out, struct err *e);
void frame_enc_free(struct frame_enc *f);

struct frame_dec;
struct frame_dec *frame_dec_new(enum codec c);
/* Decode the one frame src[n] into dst[dn]: -1 (EX_INPUT) unless it is whole,
 * nothing follows it, its content is dn bytes and its checksum is right. */
int frame_decode(struct frame_dec *f, const void *src, size_t n, void *dst,
    size_t dn, struct err *e);
/* Decode only the first dn bytes of the frame's content, which has at least dn
 * bytes.  The rest and the checksum are not checked: the caller has checked a
 * hash of src. */
int frame_decode_start(struct frame_dec *f, const void *src, size_t n,
    void *dst, size_t dn, struct err *e);
void frame_dec_free(struct frame_dec *f);
/* Set *csize to the length of the frame that begins at p[0], and *dsize to that
 * of its content, from its headers; bytes may follow the frame in p[n].  -1: no
 * frame of this codec begins at p, or p[n] does not hold all of it, or its
 * header gives no size of the content up to FRAME_MAX. */
int frame_span(enum codec c, const void *p, size_t n, size_t *csize,
    size_t *dsize);

#endif
