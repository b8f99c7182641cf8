/* lib/msg: tcp: every bit that is flipped on the way, and every early end, is
 * noticed.  With RETORT_LONG=1 all bits are flipped, else every 25th. */
#include "base/mem.h"
#include "msg/msg.h"
#include "msg/addr.h"
#include "msg/sock.h"
#include "../lib/streams.h"
#include "../lib/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct sample batches = { .batch = 1,
    .messages = 2,
    .docs = 2,
    .T = 4,
    .vocab = 8,
    .teacher = 1 };
static char where[64];

/* The *n bytes that go over the wire, with the frames' heads; the caller frees
 * them. */
static unsigned char *
capture(size_t *n)
{
    unsigned char *p = NULL;
    struct addr a;
    struct err e;
    size_t room = 0;
    ssize_t got;
    int fd;

    fflush(stdout);
    if (fork() == 0)
        _exit(sample_file(where, &batches, &e) < 0);
    *n = 0;
    if (addr_parse(&a, where, &e) < 0 ||
        (fd = sock_meet(&a, SOCK_READS, &e)) < 0)
        return NULL;
    do {
        if (room - *n < 4096)
            p = xreallocarray(p, room += 65536, 1);
        if ((got = read(fd, p + *n, room - *n)) > 0)
            *n += (size_t)got;
    } while (got > 0);
    close(fd);
    return wait(&fd) > 0 && fd == 0 ? p : NULL;
}

/* Let another process send p[n].  Returns the reader's last result. */
static int
sent(const unsigned char *p, size_t n, struct err *e)
{
    struct msg_in *r;
    struct msg m;
    struct addr a;
    pid_t child;
    int k = -1;

    if ((child = fork()) == 0) {
        int fd;

        if (addr_parse(&a, where, e) < 0 ||
            (fd = sock_meet(&a, SOCK_WRITES, e)) < 0)
            _exit(1);
        while (n > 0) {
            const ssize_t w = write(fd, p, n);

            if (w <= 0)
                break;
            p += w;
            n -= (size_t)w;
        }
        _exit(0);
    }
    if ((r = msg_in_open(where, e)))
        while ((k = msg_read(r, &m, e)) > 0)
            ;
    msg_in_close(r);
    waitpid(child, NULL, 0);
    return k;
}

int
main(void)
{
    const char *all = getenv("RETORT_LONG");
    const size_t step = all && *all == '1' ? 1 : 25;
    size_t n, tried = 0, unseen = 0, other = 0;
    struct err e = { 0 };
    unsigned char *p;

    signal(SIGPIPE, SIG_IGN);
    snprintf(where, sizeof where, "tcp:127.0.0.1:%d?wait=20",
        20000 + (int)(getpid() % 20000));
    ok((p = capture(&n)) != NULL && n > 1000, "%zu bytes are sent", n);
    ok(p && sent(p, n, &e) == 0, "frames that are whole are taken: %s", e.msg);
    for (size_t bit = 0; p && bit < 8 * n; bit += step, tried++) {
        p[bit / 8] ^= (unsigned char)(1 << bit % 8);
        e.code = 0;
        unseen += sent(p, n, &e) == 0;
        other += e.code != EX_INPUT;
        p[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    ok(tried > 100 && unseen == 0, "%zu bits turned, %zu of them unseen", tried,
        unseen);
    ok(other == 0, "%zu with another error than bad input", other);
    unseen = tried = 0;
    for (size_t k = 0; p && k < n; k += 8 * step, tried++)
        unseen += sent(p, k, &e) == 0;
    ok(tried > 10 && unseen == 0, "%zu early ends, %zu unseen", tried, unseen);
    free(p);
    return done_testing();
}
