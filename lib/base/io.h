/*
 * Files and descriptors.  Reads and writes go on after EINTR and until all is
 * transferred.  Output goes to a file with a temporary name, which is fsynced
 * and then renamed, so that a file of the final name is always whole.
 *
 * Mapped files are in io_map.c.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include "base/err.h"

#include <stddef.h>
#include <stdint.h>

/* Name of path in messages: "<stdin>" or "<stdout>" for NULL or "-", else path
 * itself. */
const char *io_in_name(const char *path);
const char *io_out_name(const char *path);

/* Open for reading; NULL or "-" is descriptor 0.  -1 and *e on failure. */
int io_open(const char *path, struct err *e);

/* Open a regular file, or a link to one, and set *size to its bytes.  -1 and
 * *e, with errno (EINVAL, EISDIR: it is no regular file).  Close it with
 * io_close_in. */
int io_open_file(const char *path, uint64_t *size, struct err *e);
/* Close, unless it is descriptor 0. */
void io_close_in(int fd);

/* Read until n bytes have come or the file ends.  Returns the number of bytes
 * read, or -1 with errno. */
ptrdiff_t io_read(int fd, void *buf, size_t n);

/* io_read from offset `at`. */
ptrdiff_t io_read_at(int fd, void *buf, size_t n, uint64_t at);

/* Open a file without a name in $TMPDIR or /tmp, for writing and reading; it
 * vanishes when it is closed.  -1 and *e (EX_SYS). */
int io_unnamed(struct err *e);

/* Write all n bytes.  0, or -1 with errno (EPIPE: the reader has left). */
int io_write(int fd, const void *buf, size_t n);
/* If fd is a pipe, let it hold 1 MiB, if the system allows that.  Programs then
 * wait for each other less often; every wait may have to wake a sleeping
 * processor. */
void io_widen_pipe(int fd);

/* A regular file mapped read-only (shared).  An empty one has p = "", n = 0.
 * If mapped bytes can no longer be read, because the file has shrunk or the
 * disk failed, the program names file and offset and exits EX_INPUT. */
struct io_map {
    const unsigned char *p;
    size_t n;
    struct io_guard *guard;
};
int io_map(struct io_map *m, const char *path, struct err *e);
/* Drop the n bytes from offset `at` on from memory.  When touched, they are
 * read from the file again. */
void io_map_forget(const struct io_map *m, size_t at, size_t n);
/* Start reading the n bytes from offset `at` on from disk, because they will be
 * used soon.  From now on the system reads no further bytes ahead. */
void io_map_fetch(const struct io_map *m, size_t at, size_t n);
void io_unmap(struct io_map *m);
/* Guard n bytes at p that were mapped without io_map.  If they can no longer be
 * read, the program names `name` (which is copied) and the offset, and exits
 * EX_INPUT.  io_unguard ends this. */
struct io_guard *io_guard(const void *p, size_t n, const char *name);
void io_unguard(struct io_guard *g);

/* Read all of a regular file, or of standard input (of any kind), into malloc'd
 * *p, which the caller frees.  More than max bytes are refused.  A NUL follows,
 * not counted in *n. */
int io_slurp(const char *path, size_t max, char **p, size_t *n, struct err *e);

/* Output that appears whole or not at all.
 * io_out_begin makes a new file PATH.tmp.PID, with another number instead of
 * PID if that name is taken.
 * io_out_commit fsyncs it, renames it to PATH and fsyncs the folder.
 * io_out_abort removes it.
 * After any failed call only io_out_abort is allowed.  The struct owns its
 * names. */
struct io_out {
    int fd;
    uint64_t n; /* bytes written */
    char *path, *tmp;
    int place; /* number of tmp from io_remember */
};
int io_out_begin(struct io_out *o, const char *path, struct err *e);
int io_out_write(struct io_out *o, const void *buf, size_t n, struct err *e);
int io_out_commit(struct io_out *o, struct err *e);
void io_out_abort(struct io_out *o);

/* Remove all temporary files and folders.  Called by exit() and by the signals
 * that end a program.  Safe in a signal handler. */
void io_remove_temporaries(void);

/* io_remember: let io_remove_temporaries also remove path, a file, or a folder
 * with the files in it.  Returns a number, or 0: the table is full, and path
 * will not be removed.  io_forget takes the path with that number out of the
 * table; it removes no file. */
int io_remember(const char *path);
void io_forget(int place);

/* Write a small file, which appears whole or not at all. */
int io_put_file(const char *path, const void *buf, size_t n, struct err *e);
int io_fsync_dir(const char *dir, struct err *e);

/* openat (mode 0666), fsync and flock, called again if a signal interrupts
 * them.  Do not open a fifo with io_openat: it might wait for ever. */
int io_openat(int at, const char *path, int flags);
int io_fsync(int fd);
int io_flock(int fd, int how);
int io_mkdirs(const char *dir, struct err *e);
int io_is_dir(const char *path);
/* Does path exist?  0 only if there is certainly nothing.  A path that cannot
 * be looked at counts as existing: opening it will tell the reason. */
int io_exists(const char *path);
/* io_exists of a file in a folder. */
int io_exists_in(const char *dir, const char *file);

#endif
