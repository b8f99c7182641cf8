/* Where the bytes of a stream come from: see msg_src.h */
#include "data/msg_src.h"
#include "data/msg_impl.h"
#include "data/shardset.h"
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
    int wake[2];            /* pipe that interrupts a wait */
    struct shardset *set;   /* or a directory: */
    struct shard_buf buf;
    size_t shard, frame;    /* to be read next */
    size_t pos;             /* bytes of buf.raw given out */
    size_t have;            /* bytes of it, 0 before the first frame */
    int partial;
};

struct msg_src *
msg_src_open(const char *addr, int partial, struct err *e)
{
    struct msg_src *s = xcalloc(1, sizeof *s);
    struct stat st;

    s->name = xstrdup(io_in_name(addr));
    s->fd = s->wake[0] = s->wake[1] = -1;
    if (addr && io_is_dir(addr)) {
        s->set = shardset_open(addr, partial, e);
        s->partial = s->set && !shardset_manifest(s->set)->complete;
        if (s->set)
            return s;
        msg_src_close(s);
        return NULL;
    }
    if (msg_refuse_address(addr, e) < 0 || (s->fd = io_open(addr, e)) < 0) {
        msg_src_close(s);
        return NULL;
    }
    s->is_file = fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode);
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

    while (poll(p, 2, -1) < 0)
        if (errno != EINTR && errno != EAGAIN)
            return err_set(e, EX_SYS, "%s: poll:", s->name);
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

ptrdiff_t
msg_src_read(struct msg_src *s, void *p, size_t n, struct err *e)
{
    ssize_t got;

    if (s->set)
        return read_set(s, p, n, e);
    do {
        if (!s->is_file && wait_input(s, e) < 0)
            return -1;
        got = read(s->fd, p, n < 1 << 30 ? n : 1 << 30);
    } while (got < 0 && (errno == EINTR || errno == EAGAIN));
    if (got < 0)
        return err_set(e, EX_SYS, "%s:", s->name);
    return got;
}

int
msg_src_is_slow(const struct msg_src *s)
{
    return !s->is_file;
}

int
msg_src_may_stop(const struct msg_src *s)
{
    return s->partial;
}

void
msg_src_wake(struct msg_src *s)
{
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
    if (s->fd > STDIN_FILENO)
        close(s->fd);
    for (int i = 0; i < 2; i++)
        if (s->wake[i] >= 0)
            close(s->wake[i]);
    free(s->name);
    free(s);
}
