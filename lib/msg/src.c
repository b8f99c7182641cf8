/* Where the bytes of a stream come from: see msg_src.h */
#include "msg/src.h"
#include "base/clock.h"
#include "msg/addr.h"
#include "msg/wire.h"
#include "msg/peer.h"
#include "msg/sock.h"
#include "msg/shm_ring.h"
#include "shard/set.h"
#include "base/io.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct msg_src {
    char *name;
    int fd;                 /* -1: none */
    int is_file;            /* a plain file: reads do not wait */
    uint64_t size;          /* of the stream, 0: not known */
    int wake[2];            /* pipe that interrupts a wait */
    struct ring *ring;      /* or messages in shared memory */
    int framed;             /* fd carries frames: */
    XXH3_state_t *x;
    uint64_t left, hash;    /* bytes of the frame to come, what it should be */
    struct shardset *set;   /* or a directory: */
    struct shard_buf buf;
    size_t shard, frame;    /* to be read next */
    size_t pos;             /* bytes of buf.raw given out */
    size_t have;            /* bytes of it, 0 before the first frame */
    int partial;
};

/* The reader's end of an address that is no file. */
static int
open_special(struct msg_src *s, const struct addr *a, struct err *e)
{
    int memory;

    if (a->kind == ADDR_SHM)
        return (s->ring = ring_attach(a, e)) ? 0 : -1;
    if ((s->fd = sock_meet(a, SOCK_READS, e)) < 0)
        return -1;
    if (a->kind == ADDR_UNIX) {
        if ((memory = sock_take(s->fd, a, e)) < 0 ||
            !(s->ring = ring_attach_fd(a, memory, e)))
            return -1;
        return sock_thank(s->fd, a, e);
    }
    s->framed = 1;
    s->x = XXH3_createState();
    if (!s->x)
        mem_exhausted("state of a hash");
    return 0;
}

struct msg_src *
msg_src_open(const char *addr, int partial, struct err *e)
{
    struct msg_src *s = xcalloc(1, sizeof *s);
    struct addr a;
    struct stat st;

    s->name = xstrdup(io_in_name(addr));
    s->fd = s->wake[0] = s->wake[1] = -1;
    if (addr_parse(&a, addr, e) < 0) {
        msg_src_close(s);
        return NULL;
    }
    if (a.kind == ADDR_FILE && addr && io_is_dir(addr)) {
        s->set = shardset_open(addr, partial, e);
        s->partial = s->set && !shardset_manifest(s->set)->complete;
        if (s->set) {
            s->size = shardset_manifest(s->set)->raw;
            return s;
        }
        msg_src_close(s);
        return NULL;
    }
    if (a.kind != ADDR_FILE ? open_special(s, &a, e) < 0 :
        (s->fd = io_open(addr, e)) < 0) {
        msg_src_close(s);
        return NULL;
    }
    if (s->ring)
        return s;
    s->is_file = fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode);
    s->size = s->is_file ? (uint64_t)st.st_size : 0;
    if (isatty(s->fd)) {
        err_set(e, EX_USAGE, "%s: a stream is not read from a terminal",
            s->name);
        msg_src_close(s);
        return NULL;
    }
    if (!s->is_file && pipe(s->wake) < 0) {
        err_set(e, EX_SYS, "pipe:");
        msg_src_close(s);
        return NULL;
    }
    return s;
}

/* Wait for input.  0, or -1 when woken (nobody reads that error). */
static int
wait_input(struct msg_src *s, struct err *e)
{
    struct pollfd p[2] = {
        { .fd = s->fd, .events = POLLIN }, { .fd = s->wake[0],
        .events = POLLIN }
    };
    struct peer_watch writer = { s->name, "writer", s->fd, 0 };
    const double began = clock_now();
    int k;

    while ((k = poll(p, 2, 1000)) <= 0) {
        if (k < 0 && errno != EINTR && errno != EAGAIN)
            return err_set(e, EX_SYS, "%s: poll:", s->name);
        peer_waits(&writer, clock_now() - began);
    }
    peer_goes_on(&writer);
    return p[1].revents ? err_set(e, EX_SYS, "%s: closed", s->name) : 0;
}

/* From a directory: what is left of the frame, then the next one. */
static ptrdiff_t
read_set(struct msg_src *s, void *p, size_t n, struct err *e)
{
    const struct manifest *m = shardset_manifest(s->set);
    size_t k;

    while (s->pos == s->have) {
        if (s->shard == m->nfile)
            return 0;
        if (s->frame == m->file[s->shard].frames) {
            s->shard++;
            s->frame = 0;
            continue;
        }
        if (shardset_frame(s->set, s->shard, s->frame, &s->buf, e) < 0)
            return -1;
        s->frame++;
        s->pos = 0;
        s->have = s->buf.nraw;
    }
    k = s->have - s->pos < n ? s->have - s->pos : n;
    memcpy(p, s->buf.raw + s->pos, k);
    s->pos += k;
    return (ptrdiff_t)k;
}

static ptrdiff_t
read_fd(struct msg_src *s, void *p, size_t n, struct err *e)
{
    ssize_t got;

    do {
        if (!s->is_file && wait_input(s, e) < 0)
            return -1;
        got = read(s->fd, p, n < 1 << 30 ? n : 1 << 30);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0 && s->framed && errno == ECONNRESET)
        return 0;               /* the writer died: no `end` has come */
    if (got < 0)
        return err_set(e, EX_SYS, "%s:", s->name);
    return got;
}

/* The head of the next frame.  1, 0 no more, -1. */
static int
read_frame(struct msg_src *s, struct err *e)
{
    unsigned char head[SOCK_FRAME];
    size_t n = 0;

    while (n < sizeof head) {
        const ptrdiff_t got = read_fd(s, head + n, sizeof head - n, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        n += (size_t)got;
    }
    if (sock_frame_get(head, &s->left, &s->hash) < 0)
        return err_set(e, EX_INPUT, "%s: a frame is damaged", s->name);
    XXH3_64bits_reset(s->x);
    return 1;
}

/* Bytes of frames; those that complete one are given out when it is right. */
static ptrdiff_t
read_frames(struct msg_src *s, void *p, size_t n, struct err *e)
{
    ptrdiff_t got;
    int k;

    while (s->left == 0)
        if ((k = read_frame(s, e)) <= 0)
            return k;
    if ((got = read_fd(s, p, n < s->left ? n : (size_t)s->left, e)) <= 0)
        return got;
    XXH3_64bits_update(s->x, p, (size_t)got);
    s->left -= (uint64_t)got;
    if (s->left == 0 && XXH3_64bits_digest(s->x) != s->hash)
        return err_set(e, EX_INPUT, "%s: a message was damaged on its way: its "
            "checksum is wrong", s->name);
    return got;
}

ptrdiff_t
msg_src_read(struct msg_src *s, void *p, size_t n, struct err *e)
{
    return s->set ? read_set(s, p, n, e) : s->framed ? read_frames(s, p, n, e) :
        read_fd(s, p, n, e);
}

int
msg_src_is_ring(const struct msg_src *s)
{
    return s->ring != NULL;
}

int
msg_src_next(struct msg_src *s, const unsigned char **p, size_t *n,
    uint64_t *end, struct err *e)
{
    struct ring_msg m;
    const int k = ring_next(s->ring, &m, e);

    if (k > 0) {
        *p = m.p;
        *n = m.n;
        *end = m.end;
    }
    return k;
}

void
msg_src_release(struct msg_src *s, uint64_t end)
{
    ring_release(s->ring, end);
}

int
msg_src_is_slow(const struct msg_src *s)
{
    return !s->is_file;
}

uint64_t
msg_src_size(const struct msg_src *s)
{
    return s->size;
}

size_t
msg_src_memory(const struct msg_src *s, size_t n)
{
    /* a frame packed and unpacked, or the segment */
    return s->set ? 2 * n : s->ring ? ring_size(s->ring) : 0;
}

int
msg_src_may_stop(const struct msg_src *s)
{
    return s->partial;
}

void
msg_src_wake(struct msg_src *s)
{
    if (s->ring)
        ring_wake(s->ring);
    if (s->wake[1] >= 0 && write(s->wake[1], "", 1) < 0) {
        /* The pipe is full of wakes already. */
    }
}

void
msg_src_close(struct msg_src *s)
{
    if (!s)
        return;
    shardset_close(s->set);
    shard_buf_release(&s->buf);
    ring_close(s->ring);
    XXH3_freeState(s->x);
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    for (int i = 0; i < 2; i++)
        if (s->wake[i] >= 0)
            close(s->wake[i]);
    free(s->name);
    free(s);
}
