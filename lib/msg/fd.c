/* Descriptors under a stream: see fd.h */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "msg/fd.h"
#include "msg/peer.h"
#include "base/clock.h"
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#define STOP_WAIT 2000           /* milliseconds */
#define PIPE_SIZE (1 << 20)      /* without privilege no pipe can be larger */
#define PIPE_ROOM ((size_t)4096) /* writable: so much does not block */

int
fd_in_open(struct fd_in *f, const char *name, int fd, struct err *e)
{
    struct stat st;

    *f = (struct fd_in){ .name = name, .fd = fd, .wake = { -1, -1 } };
    if (fd < 0)
        return -1;
    f->is_file = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    f->size = f->is_file ? (uint64_t)st.st_size : 0;
    if (isatty(fd))
        return err_set(e, EX_USAGE, "%s: a stream is not read from a terminal",
            name);
    if (!f->is_file && pipe(f->wake) < 0)
        return err_set(e, EX_SYS, "pipe:");
    return 0;
}

/* Wait for input.  0, or -1 when woken (nobody reads that error). */
static int
wait_input(struct fd_in *f, struct err *e)
{
    struct pollfd p[2] = { { .fd = f->fd, .events = POLLIN },
        { .fd = f->wake[0], .events = POLLIN } };
    struct peer_watch writer = { f->name, "writer", f->fd, 0 };
    const double began = clock_now();
    int k;

    while ((k = poll(p, 2, 1000)) <= 0) {
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return err_set(e, EX_SYS, "%s: poll:", f->name);
        peer_waits(&writer, clock_now() - began);
    }
    peer_goes_on(&writer);
    return p[1].revents ? err_set(e, EX_SYS, "%s: closed", f->name) : 0;
}

ptrdiff_t
fd_in_read(struct fd_in *f, void *p, size_t n, struct err *e)
{
    ssize_t got;

    do {
        if (!f->is_file && wait_input(f, e) < 0)
            return -1;
        got = read(f->fd, p, n < 1 << 30 ? n : 1 << 30);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0 && errno == ECONNRESET)
        return 0;
    if (got < 0)
        return err_set(e, EX_SYS, "%s:", f->name);
    return got;
}

void
fd_in_wake(struct fd_in *f)
{
    if (f->wake[1] >= 0 && write(f->wake[1], "", 1) < 0) {
        /* The pipe is full of wakes already. */
    }
}

void
fd_in_close(struct fd_in *f)
{
    if (f->fd > STDIN_FILENO)
        close(f->fd);
    for (int i = 0; i < 2; i++)
        if (f->wake[i] >= 0)
            close(f->wake[i]);
}

/* A pipe is made larger, if that is allowed: where processors sleep when they
 * have nothing to do, it is the waking that takes time. */
void
fd_out_begin(struct fd_out *f, const char *name, int fd)
{
    struct stat st;

    *f = (struct fd_out){ .name = name, .fd = fd };
    if (fstat(fd, &st) < 0)
        return;
    if (S_ISFIFO(st.st_mode))
        (void)fcntl(fd, F_SETPIPE_SZ, PIPE_SIZE);
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        f->guard = peer_guard_new(name, "reader", fd);
}

/* When the program was told to stop, the message is still finished, so that
 * an `abort` can follow, but nobody waits for a reader that sleeps: write as
 * much as a pipe that has room takes at once. */
static ssize_t
write_some(const struct fd_out *f, const struct iovec *v)
{
    struct pollfd p = { .fd = f->fd, .events = POLLOUT };
    const int r = poll(&p, 1, STOP_WAIT);

    if (r == 0)
        errno = ETIMEDOUT;
    return r <= 0 ? -1
                  : write(f->fd, v->iov_base,
                        v->iov_len < PIPE_ROOM ? v->iov_len : PIPE_ROOM);
}

int
fd_out_write(struct fd_out *f, struct iovec *v, size_t n, struct err *e)
{
    while (n > 0) {
        ssize_t got;
        size_t k;

        peer_guard_begin(f->guard);
        got = stop_asked ? write_some(f, v)
                         : writev(f->fd, v, n < 64 ? (int)n : 64);
        peer_guard_end(f->guard);
        k = got > 0 ? (size_t)got : 0;
        if (got < 0 && errno == EINTR)
            continue;
        /* A reader with something unread that closes resets the connection. */
        if (got < 0 && (errno == EPIPE || errno == ECONNRESET))
            return 1;
        if (got < 0 && errno == ETIMEDOUT && stop_asked)
            return err_set(e, EX_STOP, "%s: interrupted", f->name);
        if (got < 0)
            return err_set(e, EX_SYS, "%s:", f->name);
        for (; n > 0 && k >= v->iov_len; v++, n--)
            k -= v->iov_len;
        if (n > 0) {
            v->iov_base = (char *)v->iov_base + k;
            v->iov_len -= k;
        }
    }
    return 0;
}

void
fd_out_end(struct fd_out *f)
{
    peer_guard_free(f->guard);
}
