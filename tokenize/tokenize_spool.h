/*
 * Bytes that are written once and read from any place: the last of them in
 * memory, what is more in a file without a name (io_unnamed).
 */
#ifndef TOKENIZE_SPOOL_H
#define TOKENIZE_SPOOL_H

#include "base/err.h"
#include "base/mem.h"

#include <stddef.h>
#include <stdint.h>

#define SPOOL_KEEP ((size_t)2 << 20)    /* bytes in memory, about */

struct spool {                  /* { 0 } is empty and valid */
    int fd, open;
    uint64_t file;              /* bytes of the file */
    struct buf rest;            /* those behind them */
};

static inline uint64_t
spool_size(const struct spool *s)
{
    return s->file + s->rest.n;
}

/* Append p[n].  0, or -1 and *e (EX_SYS). */
int spool_add(struct spool *s, const void *p, size_t n, struct err *e);
/* Read up to n bytes at `at`; *got: less than n only at the end. */
int spool_read(const struct spool *s, uint64_t at, void *p, size_t n,
    size_t *got, struct err *e);
/* Of a spool of UTF-8: the characters from *at on, which goes behind them, as
 * many as `most` >= 4 bytes hold, in *part.  1, 0 at the end, -1. */
int spool_text(const struct spool *s, uint64_t *at, size_t most,
    struct buf *part, struct err *e);
/* Forget what is behind the first n bytes. */
int spool_cut(struct spool *s, uint64_t n, struct err *e);
void spool_release(struct spool *s);

#endif
