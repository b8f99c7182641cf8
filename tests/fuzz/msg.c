/*
 * Any bytes as a stream: what is refused is refused as bad input; what is read
 * to the end passes through a filter, whose output passes through another.
 */
#define _GNU_SOURCE                     /* memfd_create */
#include "base/mem.h"
#include "data/msg.h"
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Copy the stream at path to the memory file out.  What msg_read said last. */
static int
filter(const char *path, const char *out, struct err *e)
{
    struct msg_in *in = msg_in_open(path, 0, e);
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
        msg_send(w, &e2);
    }
    if (r == 0 && msg_end(w, &e2) < 0)
        abort();
    msg_out_close(w);
    msg_in_close(in);
    return r;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static int fd = -1;
    static char path[40], out[60];
    struct err e = { 0 };
    int r;

    if (fd < 0) {
        if ((fd = memfd_create("fuzz", 0)) < 0)
            abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        snprintf(out, sizeof out, "/tmp/retort-fuzz.%ld", (long)getpid());
    }
    if (ftruncate(fd, 0) < 0 || pwrite(fd, data, n, 0) != (ssize_t)n)
        abort();
    r = filter(path, "/dev/null", &e);
    if (r < 0 && e.code != EX_INPUT)
        abort();
    /* The filter's own output is read, and passes unchanged. */
    if (r == 0) {
        char again[70];

        snprintf(again, sizeof again, "%s.2", out);
        if (filter(path, out, &e) != 0 || filter(out, again, &e) != 0)
            abort();
        unlink(out);
        unlink(again);
    }
    return 0;
}
