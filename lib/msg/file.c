/* The transport (backend.h) for standard input and output, and for files, fifos
 * and devices by their paths.  A file gets its name when it is complete. */
#include "msg/backend.h"
#include "msg/fd.h"
#include "base/io.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct file_src {
    struct msg_src base;
    struct fd_in in;
};

static int
file_src_open(struct msg_src *base, const struct addr *a, struct err *e)
{
    struct file_src *s = (struct file_src *)base;

    if (fd_in_open(&s->in, base->name, io_open(a->text, e), e) < 0)
        return -1;
    base->slow = !s->in.is_file;
    base->size = s->in.size;
    return 0;
}

static ptrdiff_t
file_src_read(struct msg_src *s, void *p, size_t n, struct err *e)
{
    return fd_in_read(&((struct file_src *)s)->in, p, n, e);
}

static void
file_src_wake(struct msg_src *s)
{
    fd_in_wake(&((struct file_src *)s)->in);
}

static void
file_src_close(struct msg_src *s)
{
    fd_in_close(&((struct file_src *)s)->in);
}

struct file_sink {
    struct msg_sink base;
    struct fd_out out;
    struct io_out file;
    int is_file; /* the descriptor is file.fd */
};

static int
file_sink_open(struct msg_sink *base, const struct addr *a, struct err *e)
{
    struct file_sink *s = (struct file_sink *)base;
    int fd = STDOUT_FILENO;
    struct stat st;

    if (a->text && strcmp(a->text, "-") != 0) {
        if (stat(a->text, &st) == 0 && S_ISDIR(st.st_mode))
            return err_set(e, EX_USAGE,
                "%s: is a folder; shard write -o writes folders", a->text);
        if (io_out_begin(&s->file, a->text, e) < 0)
            return -1;
        s->is_file = 1;
        fd = s->file.fd;
    }
    if (isatty(fd))
        return err_set(e, EX_USAGE,
            "%s: a stream is not written to a terminal: give a pipe or a "
            "file",
            base->name);
    fd_out_begin(&s->out, base->name, fd);
    return 0;
}

static int
file_sink_put(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e)
{
    struct iovec *w = xreallocarray(NULL, n, sizeof *w);
    int r;

    memcpy(w, v, n * sizeof *w);
    r = fd_out_write(&((struct file_sink *)s)->out, w, n, e);
    free(w);
    return r;
}

static int
file_sink_end(struct msg_sink *base, struct err *e)
{
    struct file_sink *s = (struct file_sink *)base;

    return s->is_file ? io_out_commit(&s->file, e) : 0;
}

static void
file_sink_close(struct msg_sink *base)
{
    struct file_sink *s = (struct file_sink *)base;

    if (s->is_file)
        io_out_abort(&s->file); /* does nothing after file_sink_end */
}

const struct msg_backend msg_file = {
    .src_bytes = sizeof(struct file_src),
    .src_open = file_src_open,
    .read = file_src_read,
    .wake = file_src_wake,
    .src_close = file_src_close,
    .sink_bytes = sizeof(struct file_sink),
    .sink_open = file_sink_open,
    .put = file_sink_put,
    .end = file_sink_end,
    .sink_close = file_sink_close,
};
