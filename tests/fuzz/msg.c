/*
 * Any bytes as a stream: what is refused is refused as bad input; what is read
 * to the end passes through a filter, whose output passes through another.
 */
#define _GNU_SOURCE /* memfd_create, pipe2 */
#include "base/mem.h"
#include "msg/msg.h"
#include "fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LIMIT = 1 << 19 };

/* Copy the stream at path to out.  Returns the last result of msg_read. */
static int
filter(const char *path, const char *out, struct err *e)
{
    struct msg_in *in = msg_in_open(path, e);
    struct msg_out *w = msg_out_open(out, e);
    struct err e2;
    struct msg m;
    int r;

    if (!in || !w)
        abort();
    while ((r = msg_read(in, &m, e)) > 0) {
        if (!m.raw || m.st.data_len > m.nraw)
            abort();
        msg_copy(w, &m);
        if (msg_send(w, &e2) < 0)
            abort();
    }
    if (r == 0 && msg_end(w, &e2) < 0)
        abort();
    msg_out_close(w);
    msg_in_close(in);
    return r;
}

/* A file in memory, from which a stream is read by its path, and a pipe with
 * room for all of a stream that is written. */
struct place {
    int file, out[2];
    char path[40], pipe[40];
};

static void
place_init(struct place *p)
{
    p->file = memfd_create("fuzz", 0);
    if (p->file < 0 || pipe2(p->out, O_NONBLOCK) < 0 ||
        fcntl(p->out[1], F_SETPIPE_SZ, 2 * LIMIT) < 2 * LIMIT)
        abort();
    snprintf(p->path, sizeof p->path, "/proc/self/fd/%d", p->file);
    snprintf(p->pipe, sizeof p->pipe, "/proc/self/fd/%d", p->out[1]);
}

static void
fill(const struct place *p, const void *data, size_t n)
{
    if (ftruncate(p->file, 0) < 0 || pwrite(p->file, data, n, 0) != (ssize_t)n)
        abort();
}

/* Take what is in the pipe into mem[2 * LIMIT]. */
static size_t
drain(const struct place *p, unsigned char *mem)
{
    size_t n = 0;
    ssize_t got;

    while ((got = read(p->out[0], mem + n, 2 * LIMIT - n)) > 0)
        n += (size_t)got;
    return n;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static unsigned char once[2 * LIMIT], twice[2 * LIMIT];
    static struct place p;
    struct err e = { 0 };
    size_t n1, n2;
    int r;

    if (n > LIMIT)
        return 0;
    if (!p.path[0])
        place_init(&p);
    fill(&p, data, n);
    r = filter(p.path, p.pipe, &e);
    n1 = drain(&p, once);
    if (r < 0 && e.code != EX_INPUT)
        abort();
    if (r < 0)
        return 0;
    /* The filter's own output is read, and passes unchanged. */
    fill(&p, once, n1);
    if (filter(p.path, p.pipe, &e) != 0)
        abort();
    n2 = drain(&p, twice);
    if (n1 == 0 || n1 != n2 || memcmp(once, twice, n1) != 0)
        abort();
    return 0;
}
