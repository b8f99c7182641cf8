/*
 * Two transports (backend.h), shm:NAME and unix:PATH: messages in a ring of
 * shared memory (shm_ring.h).  The reader finds the ring by its name, or is
 * handed it over a socket.
 */
#include "msg/backend.h"
#include "msg/shm_ring.h"
#include "msg/sock.h"

#include <string.h>
#include <unistd.h>

struct shm_src {
    struct msg_src base;
    struct ring *ring;
    int socket; /* socket of a unix: stream, open while it is read; 0: none */
};

static int
shm_src_open(struct msg_src *base, const struct addr *a, struct err *e)
{
    base->slow = 1;
    return (((struct shm_src *)base)->ring = ring_attach(a, e)) ? 0 : -1;
}

static int
unix_src_open(struct msg_src *base, const struct addr *a, struct err *e)
{
    struct shm_src *s = (struct shm_src *)base;
    int memory;

    base->slow = 1;
    if ((s->socket = sock_meet(a, SOCK_READS, e)) < 0 ||
        (memory = sock_take(s->socket, a, e)) < 0 ||
        !(s->ring = ring_attach_fd(a, memory, e)))
        return -1;
    return sock_thank(s->socket, a, e);
}

static int
ring_src_next(struct msg_src *s, const unsigned char **p, size_t *n,
    uint64_t *end, struct err *e)
{
    struct ring_msg m;
    const int k = ring_next(((struct shm_src *)s)->ring, &m, e);

    if (k > 0) {
        *p = m.p;
        *n = m.n;
        *end = m.end;
    }
    return k;
}

static void
ring_src_release(struct msg_src *s, uint64_t end)
{
    ring_release(((struct shm_src *)s)->ring, end);
}

static void
ring_src_wake(struct msg_src *s)
{
    ring_wake(((struct shm_src *)s)->ring);
}

static size_t
ring_src_memory(const struct msg_src *s, size_t n)
{
    (void)n;
    return ring_size(((const struct shm_src *)s)->ring);
}

static void
ring_src_close(struct msg_src *base)
{
    struct shm_src *s = (struct shm_src *)base;

    ring_close(s->ring);
    if (s->socket > STDIN_FILENO)
        close(s->socket);
}

struct shm_sink {
    struct msg_sink base;
    struct ring *ring;
};

static int
shm_sink_open(struct msg_sink *base, const struct addr *a, struct err *e)
{
    return (((struct shm_sink *)base)->ring = ring_create(a, e)) ? 0 : -1;
}

static int
unix_sink_open(struct msg_sink *base, const struct addr *a, struct err *e)
{
    struct shm_sink *s = (struct shm_sink *)base;
    int fd, r;

    if (!(s->ring = ring_create_memfd(a, e)) ||
        (fd = sock_meet(a, SOCK_WRITES, e)) < 0)
        return -1;
    r = sock_give(fd, a, ring_fd(s->ring), e);
    close(fd);
    return r;
}

static size_t
ring_sink_memory(const struct msg_sink *s, size_t n)
{
    (void)n;
    return ring_size(((const struct shm_sink *)s)->ring);
}

static int
ring_sink_begin(struct msg_sink *s, size_t total, size_t head, struct err *e)
{
    return ring_reserve(((struct shm_sink *)s)->ring, total, head, &s->place,
        e);
}

static int
ring_sink_put(struct msg_sink *s, const struct iovec *v, size_t n,
    struct err *e)
{
    (void)e;
    for (; n > 0; v++, n--) {
        if (v->iov_len > 0 && v->iov_base != s->place)
            memcpy(s->place, v->iov_base, v->iov_len);
        s->place += v->iov_len;
    }
    return 0;
}

static int
ring_sink_done(struct msg_sink *s, struct err *e)
{
    (void)e;
    ring_publish(((struct shm_sink *)s)->ring);
    return 0;
}

static int
ring_sink_end(struct msg_sink *s, struct err *e)
{
    return ring_handover(((struct shm_sink *)s)->ring, e);
}

static void
ring_sink_close(struct msg_sink *s)
{
    ring_close(((struct shm_sink *)s)->ring);
}

/* Members that both transports share. */
#define RING_BACKEND                                                        \
    .src_bytes = sizeof(struct shm_src), .next = ring_src_next,             \
    .release = ring_src_release, .wake = ring_src_wake,                     \
    .src_memory = ring_src_memory, .src_close = ring_src_close,             \
    .sink_bytes = sizeof(struct shm_sink), .sink_memory = ring_sink_memory, \
    .begin = ring_sink_begin, .put = ring_sink_put, .done = ring_sink_done, \
    .end = ring_sink_end, .sink_close = ring_sink_close

const struct msg_backend msg_shm = { .src_open = shm_src_open,
    .sink_open = shm_sink_open,
    RING_BACKEND };

const struct msg_backend msg_unix = { .src_open = unix_src_open,
    .sink_open = unix_sink_open,
    RING_BACKEND };
