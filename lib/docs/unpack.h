/* Reading the content of a file.  The file may be compressed once, by gzip,
 * bzip2, xz, zstd or lz4; its first bytes tell. */
#ifndef DOCS_UNPACK_H
#define DOCS_UNPACK_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

struct unpack;
/* Read from the current place of fd, which the caller closes.  unpack_seek
 * works if that place is the beginning of a regular, uncompressed file.
 * NULL and *e. */
struct unpack *unpack_open(int fd, const char *name, struct err *e);
void unpack_close(struct unpack *u); /* may be NULL */

/* Is the file compressed? */
int unpack_is_packed(const struct unpack *u);
/* Does unpack_seek work? */
int unpack_seeks(const struct unpack *u);

/* Read up to n bytes of content.  Returns their number; 0: the end; -1 and *e,
 * such as EX_INPUT if the compressed data are cut off, or other data follow. */
ptrdiff_t unpack_read(struct unpack *u, void *p, size_t n, struct err *e);
/* Look at the first n bytes of the content, or all of it if it has fewer; call
 * it before unpack_read.  Returns their number; they stay at *p until the next
 * call, and unpack_read will return them.  -1 and *e. */
ptrdiff_t unpack_peek(struct unpack *u, size_t n, const char **p,
    struct err *e);
/* Go to a place of the file, as lseek; only if unpack_seeks. */
int64_t unpack_seek(struct unpack *u, int64_t at, int whence);

/* Bytes read from the file. */
uint64_t unpack_fed(const struct unpack *u);

#endif
