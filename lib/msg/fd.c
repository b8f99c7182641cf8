/* Descriptors under a stream: see fd.h */
#include "msg/fd.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/note.h"
#include "base/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define STOP_WAIT 2000           /* milliseconds */
#define SILENCE 10               /* seconds; longer silence is reported */
#define PIPE_ROOM ((size_t)4096) /* bytes that a writable pipe takes at once */
#define RESENT 5                 /* see is_cut_off */
#define ASKED 3                  /* see is_cut_off */

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
        return err_set(e, EX_USAGE,
            "%s: a stream is not read from a terminal: give a pipe or a file",
            name);
    if (!f->is_file && pipe(f->wake) < 0)
        return err_set(e, EX_SYS, "pipe:");
    return 0;
}

static int
is_socket(int fd)
{
    struct stat st;

    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
}

static void
note_waiting(const char *name, const char *whom, int *told)
{
    if (!*told)
        note("%s: the %s has been silent for %d s: waiting for it", name, whom,
            SILENCE);
    *told = 1;
}

static void
note_goes_on(const char *name, const char *whom, int *told)
{
    if (*told)
        note("%s: the %s goes on", name, whom);
    *told = 0;
}

/* Wait for input.  0; -1: an error, or fd_in_wake was called (then nobody reads
 * *e). */
static int
wait_input(struct fd_in *f, struct err *e)
{
    struct pollfd p[2] = { { .fd = f->fd, .events = POLLIN },
        { .fd = f->wake[0], .events = POLLIN } };
    int k, told = 0;

    while ((k = poll(p, 2, SILENCE * 1000)) <= 0) {
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return err_set(e, EX_SYS, "%s: poll:", f->name);
        if (k == 0 && is_socket(f->fd))
            note_waiting(f->name, "writer", &told);
    }
    note_goes_on(f->name, "writer", &told);
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
        /* the pipe is full already, so the reader wakes */
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

/* Let a write to a socket fail with EAGAIN if the reader takes nothing for
 * SILENCE seconds. */
void
fd_out_begin(struct fd_out *f, const char *name, int fd)
{
    const struct timeval silence = { .tv_sec = SILENCE };

    *f = (struct fd_out){ .name = name, .fd = fd };
    io_widen_pipe(fd);
    if (is_socket(fd))
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &silence, sizeof silence);
}

/* Write some of v after stop_asked was set.  The message is still finished, so
 * that an `abort` can follow, but each call waits at most STOP_WAIT for room
 * and then writes at most PIPE_ROOM bytes, for which there is room. */
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

/* Was the reader's machine cut off?  Then the same bytes were sent at least
 * RESENT times, which takes 6 seconds or more, and were never acknowledged; or
 * its receive buffer was full, and it did not answer ASKED questions whether
 * there is room again.  The machine of a reader that is stopped or slow still
 * answers. */
static int
is_cut_off(int fd)
{
    struct tcp_info t;
    socklen_t n = sizeof t;

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &n) == 0 &&
        (t.tcpi_retransmits >= RESENT || t.tcpi_probes >= ASKED);
}

/* Writing has failed with this error number.  1: the reader has left; -1 and
 * *e.  A reader that closes before it has read all resets the connection.  So
 * does a machine that comes back after its reader has given up. */
static int
explain_failure(const struct fd_out *f, int why, struct err *e)
{
    const int closed = why == EPIPE || why == ECONNRESET;

    if (closed && !is_cut_off(f->fd))
        return 1;
    if (closed)
        return err_set(e, EX_SYS,
            "%s: the reader was cut off before it had everything", f->name);
    if (why == ETIMEDOUT && stop_asked)
        return err_set(e, EX_STOP, "%s: interrupted", f->name);
    errno = why;
    return err_set(e, EX_SYS, "%s:", f->name);
}

int
fd_out_write(struct fd_out *f, struct iovec *v, size_t n, struct err *e)
{
    while (n > 0) {
        ssize_t got;
        size_t k;

        got = stop_asked ? write_some(f, v)
                         : writev(f->fd, v, n < 64 ? (int)n : 64);
        k = got > 0 ? (size_t)got : 0;
        if (got < 0 && errno == EAGAIN && is_socket(f->fd)) {
            note_waiting(f->name, "reader", &f->told);
            continue;
        }
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return explain_failure(f, errno, e);
        note_goes_on(f->name, "reader", &f->told);
        for (; n > 0 && k >= v->iov_len; v++, n--)
            k -= v->iov_len;
        if (n > 0) {
            v->iov_base = (char *)v->iov_base + k;
            v->iov_len -= k;
        }
    }
    return 0;
}

int
fd_out_drain(struct fd_out *f, struct err *e)
{
    struct pollfd p = { .fd = f->fd }; /* poll for errors alone */
    int left, before = 0, why = 0;
    double since = clock_now();
    socklen_t n = sizeof why;

    while (ioctl(f->fd, SIOCOUTQ, &left) == 0 && left > 0) {
        if (left != before)
            since = clock_now();
        before = left;
        if (poll(&p, 1, 10) > 0) {
            getsockopt(f->fd, SOL_SOCKET, SO_ERROR, &why, &n);
            return explain_failure(f, why != 0 ? why : EPIPE, e);
        }
        if (stop_asked && clock_now() - since > STOP_WAIT / 1000.0)
            return explain_failure(f, ETIMEDOUT, e);
        if (clock_now() - since > SILENCE)
            note_waiting(f->name, "reader", &f->told);
    }
    note_goes_on(f->name, "reader", &f->told);
    return 0;
}
