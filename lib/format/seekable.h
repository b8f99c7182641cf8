/*
 * The seek table at the end of a shard: a skippable frame
 *   u32 0x184D2A5E, u32 bytes that follow,
 *   per frame { u32 compressed, u32 content, u32 low half of XXH64(content) },
 *   u32 frames, u8 0x80 (checksums present), u32 0x8F92EAB1
 * all little-endian (zstd seekable format 0.1.0).
 */
#ifndef FORMAT_SEEKABLE_H
#define FORMAT_SEEKABLE_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

#define SEEK_FRAMES_MAX 0x8000000u

struct seek_entry {
    uint32_t csize, dsize, sum;
};
uint32_t seek_sum(const void *content, size_t n);
size_t seek_bytes(size_t nframe); /* bytes of the whole skippable frame */
void seek_write(struct buf *b, const struct seek_entry *f, size_t n);
/* Parse a table that fills p[n] exactly, into malloc'd *f; the caller frees.
 * EX_INPUT: the error gives an offset in the file, in which p is at `base`. */
int seek_parse(const unsigned char *p, size_t n, uint64_t base,
    struct seek_entry **f, size_t *nf, struct err *e);

#endif
