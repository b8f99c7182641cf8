/* The content of a file without what compresses it (gzip, bzip2, xz, zstd or
 * lz4, seen in the content; once). */
#ifndef DOCS_UNPACK_H
#define DOCS_UNPACK_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct unpack;
/* fd stays the caller's; it is read from where it is; a regular file that is
 * not compressed is read as it is (unpack_seeks), if its beginning is there.
 * NULL and *e. */
struct unpack *unpack_open(int fd, const char *name, struct err *e);
void unpack_close(struct unpack *u); /* may be NULL */

/* Is it compressed?  May it be read at any place? */
int unpack_is_packed(const struct unpack *u);
int unpack_seeks(const struct unpack *u);

/* Read up to n bytes: how many, 0 at the end, -1 and *e.  What ends too early
 * and what follows its end are errors (EX_INPUT). */
ptrdiff_t unpack_read(struct unpack *u, void *p, size_t n, struct err *e);
/* The first n bytes of the content, or all of it if it has fewer, before any is
 * read: they stand at *p until the next call, which gives them again.  How
 * many; -1 and *e. */
ptrdiff_t unpack_peek(struct unpack *u, size_t n, const char **p,
    struct err *e);
/* Go to a place of the file, as lseek; only where unpack_seeks. */
int64_t unpack_seek(struct unpack *u, int64_t at, int whence);

/* Bytes of the file that have been read. */
uint64_t unpack_fed(const struct unpack *u);

#endif
