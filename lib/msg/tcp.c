/*
 * The transport (backend.h) tcp:HOST:PORT.  Each message is a frame with a
 * checksum of its own, which the reader checks, because tcp's checksum is weak.
 *
 * A frame is a head of 24 bytes, little-endian, then the message:
 *   4 bytes "rtf1"
 *   u32     low half of the XXH3-64 of the 16 bytes that follow
 *   u64     bytes of the message
 *   u64     XXH3-64 of the message
 */
#include "msg/backend.h"
#include "msg/fd.h"
#include "msg/sock.h"
#include "base/bytes.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

enum { FRAME_HEAD = 24 };

static void
put_frame_head(unsigned char head[FRAME_HEAD], uint64_t n, uint64_t hash)
{
    memcpy(head, "rtf1", 4);
    le_put(head + 8, n, 8);
    le_put(head + 16, hash, 8);
    le_put(head + 4, XXH3_64bits(head + 8, 16), 4);
}

/* Check and parse the head of a frame.  0, or -1: it is damaged. */
static int
parse_frame_head(const unsigned char head[FRAME_HEAD], uint64_t *n,
    uint64_t *hash)
{
    if (memcmp(head, "rtf1", 4) != 0 ||
        le_get(head + 4, 4) != (XXH3_64bits(head + 8, 16) & 0xffffffff))
        return -1;
    *n = le_get(head + 8, 8);
    *hash = le_get(head + 16, 8);
    return 0;
}

struct tcp_src {
    struct msg_src base;
    struct fd_in in;
    XXH3_state_t *x;
    uint64_t left, hash; /* left: bytes of the frame still to come; hash:
                          * checksum of the frame */
};

static int
tcp_src_open(struct msg_src *base, const struct addr *a, struct err *e)
{
    struct tcp_src *s = (struct tcp_src *)base;

    if (!(s->x = XXH3_createState()))
        mem_exhausted("state of a hash");
    base->slow = 1;
    return fd_in_open(&s->in, base->name, sock_meet(a, SOCK_READS, e), e);
}

/* Read the head of the next frame.  Returns 1; 0: there is none; -1. */
static int
read_frame_head(struct tcp_src *s, struct err *e)
{
    unsigned char head[FRAME_HEAD];
    size_t n = 0;

    while (n < sizeof head) {
        const ptrdiff_t got = fd_in_read(&s->in, head + n, sizeof head - n, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        n += (size_t)got;
    }
    if (parse_frame_head(head, &s->left, &s->hash) < 0)
        return err_set(e, EX_INPUT, "%s: a frame is damaged", s->base.name);
    XXH3_64bits_reset(s->x);
    return 1;
}

/* Read bytes of frames.  The last bytes of a frame are returned only if its
 * checksum is right. */
static ptrdiff_t
tcp_src_read(struct msg_src *base, void *p, size_t n, struct err *e)
{
    struct tcp_src *s = (struct tcp_src *)base;
    ptrdiff_t got;
    int k;

    while (s->left == 0)
        if ((k = read_frame_head(s, e)) <= 0)
            return k;
    got = fd_in_read(&s->in, p, n < s->left ? n : (size_t)s->left, e);
    if (got <= 0)
        return got;
    XXH3_64bits_update(s->x, p, (size_t)got);
    s->left -= (uint64_t)got;
    if (s->left == 0 && XXH3_64bits_digest(s->x) != s->hash)
        return err_set(e, EX_INPUT,
            "%s: a message was damaged on its way: its checksum is wrong",
            base->name);
    return got;
}

static void
tcp_src_wake(struct msg_src *s)
{
    fd_in_wake(&((struct tcp_src *)s)->in);
}

static void
tcp_src_close(struct msg_src *base)
{
    struct tcp_src *s = (struct tcp_src *)base;

    fd_in_close(&s->in);
    XXH3_freeState(s->x);
}

struct tcp_sink {
    struct msg_sink base;
    struct fd_out out;
    int fd;           /* the descriptor of out, which this struct owns; -1:
                       * none */
    struct buf whole; /* the message begun, gathered here because its checksum
                       * is sent first */
};

static int
tcp_sink_open(struct msg_sink *base, const struct addr *a, struct err *e)
{
    struct tcp_sink *s = (struct tcp_sink *)base;

    if ((s->fd = sock_meet(a, SOCK_WRITES, e)) < 0)
        return -1;
    fd_out_begin(&s->out, base->name, s->fd);
    return 0;
}

static size_t
tcp_sink_memory(const struct msg_sink *s, size_t n)
{
    (void)s;
    return n;
}

static int
tcp_sink_begin(struct msg_sink *s, size_t total, size_t head, struct err *e)
{
    struct buf *b = &((struct tcp_sink *)s)->whole;

    (void)head;
    (void)e;
    buf_clear(b);
    buf_reserve(b, total);
    return 0;
}

static int
tcp_sink_put(struct msg_sink *s, const struct iovec *v, size_t n, struct err *e)
{
    (void)e;
    for (; n > 0; v++, n--)
        buf_add(&((struct tcp_sink *)s)->whole, v->iov_base, v->iov_len);
    return 0;
}

static int
tcp_sink_done(struct msg_sink *base, struct err *e)
{
    struct tcp_sink *s = (struct tcp_sink *)base;
    unsigned char head[FRAME_HEAD];
    struct iovec v[2] = { { head, sizeof head }, { s->whole.p, s->whole.n } };

    put_frame_head(head, s->whole.n, XXH3_64bits(s->whole.p, s->whole.n));
    return fd_out_write(&s->out, v, 2, e);
}

static int
tcp_sink_end(struct msg_sink *s, struct err *e)
{
    return fd_out_drain(&((struct tcp_sink *)s)->out, e);
}

static void
tcp_sink_close(struct msg_sink *base)
{
    struct tcp_sink *s = (struct tcp_sink *)base;

    if (s->fd >= 0)
        close(s->fd);
    buf_release(&s->whole);
}

const struct msg_backend msg_tcp = {
    .src_bytes = sizeof(struct tcp_src),
    .src_open = tcp_src_open,
    .read = tcp_src_read,
    .wake = tcp_src_wake,
    .src_close = tcp_src_close,
    .sink_bytes = sizeof(struct tcp_sink),
    .sink_open = tcp_sink_open,
    .sink_memory = tcp_sink_memory,
    .begin = tcp_sink_begin,
    .put = tcp_sink_put,
    .done = tcp_sink_done,
    .end = tcp_sink_end,
    .sink_close = tcp_sink_close,
};
