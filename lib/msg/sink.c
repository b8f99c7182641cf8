/* Where the bytes of a stream go: see msg_sink.h */
#define _GNU_SOURCE                     /* F_SETPIPE_SZ */
#include "msg/sink.h"
#include "base/stop.h"
#include "msg/addr.h"
#include "msg/peer.h"
#include "msg/sock.h"
#include "msg/shm_ring.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define STOP_WAIT 2000          /* milliseconds */
#define PIPE_SIZE (1 << 20)     /* without privilege no pipe can be larger */
#define PIPE_ROOM ((size_t)4096)    /* writable: so much does not block */

struct msg_sink {
    char *name;
    int fd;                 /* -1: none */
    int is_file;            /* file holds the descriptor */
    struct io_out file;
    int is_socket;          /* fd carries frames */
    struct ring *ring;      /* or memory */
    struct peer_guard *guard;   /* over waits for the reader */
    int left;               /* the reader has gone, or lost the thread */
    unsigned char *at;      /* in the ring: the message begun */
    struct buf whole;       /* to a socket: it, since its hash goes first */
    XXH3_state_t *x;
};

/* A path, or standard output. */
static int
open_file(struct msg_sink *s, const char *addr, struct err *e)
{
    struct stat st;

    if (!addr || strcmp(addr, "-") == 0) {
        s->fd = STDOUT_FILENO;
    } else {
        if (stat(addr, &st) == 0 && S_ISDIR(st.st_mode))
            return err_set(e, EX_USAGE, "%s: is a folder; shard -o writes "
                "folders", addr);
        if (io_out_begin(&s->file, addr, e) < 0)
            return -1;
        s->is_file = 1;
        s->fd = s->file.fd;
    }
    if (isatty(s->fd))
        return err_set(e, EX_USAGE, "%s: a stream is not written to a "
            "terminal", s->name);
    return 0;
}

static int
open_unix(struct msg_sink *s, const struct addr *a, struct err *e)
{
    int fd, r;

    if (!(s->ring = ring_create_memfd(a, e)) ||
        (fd = sock_meet(a, SOCK_WRITES, e)) < 0)
        return -1;
    r = sock_give(fd, a, ring_fd(s->ring), e);
    close(fd);
    return r;
}

static int
open_tcp(struct msg_sink *s, const struct addr *a, struct err *e)
{
    s->is_socket = 1;
    s->x = XXH3_createState();
    if (!s->x)
        mem_exhausted("state of a hash");
    return (s->fd = sock_meet(a, SOCK_WRITES, e)) < 0 ? -1 : 0;
}

/* A pipe is made larger, if that is allowed: where processors sleep when they
 * have nothing to do, it is the waking that takes time. */
static void
prepare(struct msg_sink *s)
{
    struct stat st;

    if (s->fd < 0 || fstat(s->fd, &st) < 0)
        return;
    if (S_ISFIFO(st.st_mode))
        (void)fcntl(s->fd, F_SETPIPE_SZ, PIPE_SIZE);
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode))
        s->guard = peer_guard_new(s->name, "reader", s->fd);
}

struct msg_sink *
msg_sink_open(const char *addr, struct err *e)
{
    struct msg_sink *s = xcalloc(1, sizeof *s);
    struct addr a;
    int r = -1;

    s->name = xstrdup(io_out_name(addr));
    s->fd = -1;
    if (addr_parse(&a, addr, e) == 0)
        switch (a.kind) {
        case ADDR_FILE: r = open_file(s, addr, e); break;
        case ADDR_SHM: r = (s->ring = ring_create(&a, e)) ? 0 : -1; break;
        case ADDR_UNIX: r = open_unix(s, &a, e); break;
        case ADDR_TCP: r = open_tcp(s, &a, e); break;
        }
    if (r == 0)
        prepare(s);
    if (r == 0)
        return s;
    msg_sink_close(s);
    return NULL;
}

const char *
msg_sink_name(const struct msg_sink *s)
{
    return s->name;
}

size_t
msg_sink_memory(const struct msg_sink *s, size_t n)
{
    return s->ring ? ring_size(s->ring) : s->is_socket ? n : 0;
}

/* When the program was told to stop, the message is still finished, so that
 * an `abort` can follow, but nobody waits for a reader that sleeps: write as
 * much as a pipe that has room takes at once. */
static ssize_t
write_some(const struct msg_sink *s, const struct iovec *v)
{
    struct pollfd p = { .fd = s->fd, .events = POLLOUT };
    const int r = poll(&p, 1, STOP_WAIT);

    if (r == 0)
        errno = ETIMEDOUT;
    return r <= 0 ? -1 : write(s->fd, v->iov_base, v->iov_len < PIPE_ROOM ?
        v->iov_len : PIPE_ROOM);
}

/* Write all pieces, of which v is changed. */
static int
write_pieces(struct msg_sink *s, struct iovec *v, size_t n, struct err *e)
{
    while (n > 0) {
        ssize_t got;
        size_t k;

        peer_guard_begin(s->guard);
        got = stop_asked ? write_some(s, v) :
            writev(s->fd, v, n < 64 ? (int)n : 64);
        peer_guard_end(s->guard);
        k = got > 0 ? (size_t)got : 0;
        if (got < 0 && errno == EINTR)
            continue;
        /* A reader with something unread that closes resets the connection. */
        if (got < 0 && (errno == EPIPE ||
            (s->is_socket && errno == ECONNRESET))) {
            s->left = 1;
            return 1;
        }
        if (got < 0 && errno == ETIMEDOUT && stop_asked) {
            s->left = 1;            /* with a part of a message */
            return err_set(e, EX_STOP, "%s: interrupted", s->name);
        }
        if (got < 0)
            return err_set(e, EX_SYS, "%s:", s->name);
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
msg_sink_begin(struct msg_sink *s, size_t total, size_t head, struct err *e)
{
    int r;

    if (s->left)
        return 1;
    buf_clear(&s->whole);
    if (!s->ring)
        return 0;
    if ((r = ring_reserve(s->ring, total, head, &s->at, e)) != 0)
        s->left = r > 0 || e->code == EX_STOP;
    return r;
}

void *
msg_sink_place(const struct msg_sink *s)
{
    return s->ring ? s->at : NULL;
}

int
msg_sink_put(struct msg_sink *s, const void *p, size_t n, struct err *e)
{
    struct iovec v = { (void *)(uintptr_t)p, n };

    if (s->left)
        return 1;
    if (s->is_socket) {
        buf_add(&s->whole, p, n);
        return 0;
    }
    if (!s->ring)
        return write_pieces(s, &v, 1, e);
    if (n > 0 && p != s->at)
        memcpy(s->at, p, n);
    s->at += n;
    return 0;
}

int
msg_sink_done(struct msg_sink *s, struct err *e)
{
    const struct iovec v = { s->whole.p, s->whole.n };

    if (s->left)
        return 1;
    if (s->ring)
        ring_publish(s->ring);
    return s->is_socket ? msg_sink_send(s, &v, 1, e) : 0;
}

static int
send_ring(struct msg_sink *s, const struct iovec *v, size_t n, struct err *e)
{
    size_t total = 0;
    int r;

    for (size_t i = 0; i < n; i++)
        total += v[i].iov_len;
    r = msg_sink_begin(s, total, v[0].iov_len, e);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = msg_sink_put(s, v[i].iov_base, v[i].iov_len, e);
    return r == 0 ? msg_sink_done(s, e) : r;
}

int
msg_sink_send(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e)
{
    unsigned char head[SOCK_FRAME];
    struct iovec *w;
    size_t total = 0;
    int r;

    if (s->left)
        return 1;
    if (s->ring)
        return send_ring(s, v, n, e);
    w = xreallocarray(NULL, n + 1, sizeof *w);
    memcpy(w + 1, v, n * sizeof *w);
    if (s->is_socket) {
        XXH3_64bits_reset(s->x);
        for (size_t i = 0; i < n; i++) {
            total += v[i].iov_len;
            if (v[i].iov_len)
                XXH3_64bits_update(s->x, v[i].iov_base, v[i].iov_len);
        }
        sock_frame_put(head, total, XXH3_64bits_digest(s->x));
        w[0] = (struct iovec){ head, sizeof head };
        r = write_pieces(s, w, n + 1, e);
    } else
        r = write_pieces(s, w + 1, n, e);
    free(w);
    return r;
}

int
msg_sink_end(struct msg_sink *s, struct err *e)
{
    int r = 0;

    if (s->left)
        return 1;
    if (s->is_file)
        return io_out_commit(&s->file, e);
    if (s->ring && (r = ring_handover(s->ring, e)) > 0)
        s->left = 1;
    return r;
}

void
msg_sink_close(struct msg_sink *s)
{
    if (!s)
        return;
    peer_guard_free(s->guard);
    if (s->is_file)
        io_out_abort(&s->file);     /* after the end nothing is left of it */
    else if (s->fd > STDERR_FILENO)
        close(s->fd);
    ring_close(s->ring);
    XXH3_freeState(s->x);
    buf_release(&s->whole);
    free(s->name);
    free(s);
}
