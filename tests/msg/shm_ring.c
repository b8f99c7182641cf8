/* The ring of shared memory: messages of all sizes between two processes, one
 * of which dies, and what is refused. */
#define _GNU_SOURCE /* F_ADD_SEALS */
#include "../lib/streams.h"
#include "../lib/tap.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "msg/batch.h"
#include "msg/wire.h"
#include "msg/shm_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 1 << 16, MESSAGES = 3000 };

/* Size of message k, at most `most`; the message's bytes are k, k + 1, ... */
static size_t
size_of(size_t k, size_t most)
{
    return 1 + k * 2654435761u % most;
}

static int
put(struct ring *r, size_t k, size_t most)
{
    const size_t n = size_of(k, most);
    unsigned char *p;
    struct err e;
    int c = ring_reserve(r, n, n / 2, &p, &e);

    if (c != 0)
        return c;
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(k + i);
    ring_publish(r);
    return 0;
}

/* Read message k.  Returns 1 if it is as put() wrote it, 0 at the end, -1 if it
 * is not or cannot be read. */
static int
get(struct ring *r, size_t k, size_t most, uint64_t *end)
{
    const size_t n = size_of(k, most);
    struct ring_msg m;
    struct err e;
    const int c = ring_next(r, &m, &e);

    if (c <= 0)
        return c;
    if (m.n != n || (uintptr_t)(m.p + n / 2) % 64 != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (m.p[i] != (unsigned char)(k + i))
            return -1;
    *end = m.end;
    return 1;
}

static void
test_large(void)
{
    const struct addr a = { .text = "fd", .size = SMALL };
    struct ring *end[2];
    struct err e = { 0 };
    unsigned char *p;
    struct ring_msg m;
    size_t most;

    if (!(end[0] = ring_create_memfd(&a, &e)) ||
        !(end[1] = ring_attach_fd(&a, dup(ring_fd(end[0])), &e)))
        abort();
    ok(ring_reserve(end[0], SMALL, 8, &p, &e) == -1 && e.code == EX_USAGE &&
            strstr(e.msg, "size=1M"),
        "%s", e.msg);
    ok(ring_reserve(end[0], SIZE_MAX, 8, &p, &e) == -1, "%s", e.msg);
    most = ring_size(end[0]) - 128;
    ok(ring_reserve(end[0], most, 8, &p, &e) == 0, "one that just fits");
    memset(p, 1, most);
    ring_publish(end[0]);
    ok(ring_next(end[1], &m, &e) == 1 && m.n == most,
        "the largest message is read");
    ring_release(end[1], m.end);
    ok(ring_reserve(end[0], 100, 8, &p, &e) == 0 && put(end[0], 7, 900) == 0 &&
            get(end[1], 7, 900, &m.end) == 1,
        "a message that was begun and given up is not seen");
    ring_release(end[1], m.end);
    ring_wake(end[1]);
    ok(ring_next(end[1], &m, &e) == -1, "a reader that is woken gives up");
    ring_close(end[1]);
    ok(put(end[0], 0, 9) == 1, "a reader that closes is noticed");
    ring_close(end[0]);
}

/* A pipe into which a writer puts a byte when it has written; 0: there is
 * none. */
static int written[2];

/* A child that writes n messages of up to `most` bytes to a, and waits to die.
 * */
static pid_t
writer(const struct addr *a, size_t n, size_t most)
{
    const pid_t pid = fork();
    struct err e;
    struct ring *r;

    if (pid != 0)
        return pid;
    if (!(r = ring_create(a, &e)))
        _exit(1);
    for (size_t k = 0; k < n; k++)
        put(r, k, most);
    if (written[1] > 0 && write(written[1], "", 1) < 0)
        _exit(1);
    pause();
    _exit(0);
}

static void
end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static int
segment_exists(const struct addr *a)
{
    char *name =
        xasprintf("/dev/shm/retort-%lu-%s", (unsigned long)geteuid(), a->name);
    const int r = access(name, F_OK) == 0;

    free(name);
    return r;
}

static void
wait_segment(const struct addr *a)
{
    const struct timespec nap = { .tv_nsec = 30000000 };

    do
        nanosleep(&nap, NULL);
    while (!segment_exists(a));
}

static void
test_many(void)
{
    char *text = xasprintf("shm:many.%ld?size=64K&wait=5", (long)getpid());
    struct addr a;
    struct err e;
    struct ring *r;
    uint64_t upto = 0, before = 0;
    size_t k = 0;
    pid_t pid;

    addr_parse(&a, text, &e);
    pid = writer(&a, MESSAGES, SMALL / 4);
    if (!(r = ring_attach(&a, &e)))
        abort();
    /* Two messages are held, as a reader that reads ahead does. */
    for (; k < MESSAGES && get(r, k, SMALL / 4, &upto) == 1; k++) {
        ring_release(r, before);
        before = upto;
    }
    ok(k == MESSAGES, "%zu messages of up to %d bytes through %d", k, SMALL / 4,
        SMALL);
    ring_close(r);
    end_child(pid);
    free(text);
}

static void
test_death(void)
{
    char *text = xasprintf("shm:unit.%ld?size=64K&wait=5", (long)getpid());
    struct addr a;
    struct err e = { 0 };
    struct ring *r;
    uint64_t end;
    size_t k = 0;
    double t;
    pid_t pid;
    char byte;

    addr_parse(&a, text, &e);
    if (pipe(written) < 0)
        abort();
    pid = writer(&a, 20, 1000);
    wait_segment(&a);
    r = ring_attach(&a, &e);
    ok(r && !segment_exists(&a), "a reader attaches, the name goes %s", e.msg);
    if (read(written[0], &byte, 1) != 1)
        abort();
    close(written[0]);
    close(written[1]);
    written[1] = 0;
    end_child(pid);
    t = clock_now();
    while (k < 20 && get(r, k, 1000, &end) == 1)
        k++;
    ok(k == 20, "all that was published is there");
    ok(get(r, k, 1000, &end) == 0 && clock_now() - t < 1.0,
        "the death is noticed in %.2f s", clock_now() - t);
    ring_close(r);

    pid = writer(&a, 1, 1000);
    wait_segment(&a);
    ok(!ring_create(&a, &e) && e.code == EX_USAGE, "%s", e.msg);
    end_child(pid);
    ok(segment_exists(&a), "a writer that nobody met leaves its segment");
    r = ring_create(&a, &e);
    ok(r != NULL, "the next start takes its place %s", e.msg);
    ring_close(r);
    ok(!segment_exists(&a), "a clean end removes it");

    pid = writer(&a, 1, 1000);
    wait_segment(&a);
    end_child(pid);
    a.wait = 0.2;
    ok(!ring_attach(&a, &e) && e.code == EX_SYS && !segment_exists(&a),
        "a reader does not take it for its own: %s", e.msg);

    /* The reader dies: the writer is told. */
    r = ring_create(&a, &e);
    if ((pid = fork()) == 0) {
        struct ring *q = ring_attach(&a, &e);

        _exit(q && get(q, 0, 1000, &end) == 1 ? 0 : 1);
    }
    put(r, 0, 1000);
    ok(ring_handover(r, &e) == 0, "a reader has come");
    waitpid(pid, NULL, 0);
    for (k = 1; k < 1000 && put(r, k, 1000) == 0; k++)
        ;
    ok(k < 200, "it died, and the writer is told after %zu messages", k);
    ring_close(r);
    free(text);
}

static void
test_foreign(void)
{
    const struct addr a = { .text = "fd", .size = 1 << 16 };
    char junk[100];
    struct err e;
    int fd = memfd_create("x", MFD_ALLOW_SEALING);

    if (fd < 0 || ftruncate(fd, 1 << 16) < 0)
        abort();
    ok(!ring_attach_fd(&a, dup(fd), &e) && e.code == EX_INPUT, "%s", e.msg);
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
    ok(!ring_attach_fd(&a, dup(fd), &e) && e.code == EX_INPUT, "%s", e.msg);
    memset(junk, 'x', sizeof junk);
    memcpy(junk, "retortSH", 8);
    if (pwrite(fd, junk, sizeof junk, 0) != sizeof junk)
        abort();
    ok(!ring_attach_fd(&a, dup(fd), &e) && e.code == EX_INPUT, "%s", e.msg);
    close(fd);
}

/* A segment that is not ours alone is refused, by either end, at once. */
static void
test_owner(void)
{
    char *text = xasprintf("shm:own.%ld?size=64K&wait=5", (long)getpid());
    char *path = xasprintf("/dev/shm/retort-%lu-own.%ld",
        (unsigned long)geteuid(), (long)getpid());
    struct addr a;
    struct err e = { 0 };
    int fd = open(path, O_RDWR | O_CREAT, 0600);

    addr_parse(&a, text, &e);
    fchmod(fd, 0622);
    ok(!ring_create(&a, &e) && e.code == EX_INPUT, "a writer refuses it: %s",
        e.msg);
    ok(!ring_attach(&a, &e) && e.code == EX_INPUT, "a reader refuses it: %s",
        e.msg);
    ok(access(path, F_OK) == 0, "the segment of another user is still there");
    fchmod(fd, 0600);
    if (geteuid() == 0 && fchown(fd, 65534, 65534) == 0) {
        ok(!ring_create(&a, &e) && e.code == EX_INPUT,
            "a writer refuses it: %s", e.msg);
        ok(!ring_attach(&a, &e) && e.code == EX_INPUT,
            "a reader refuses it: %s", e.msg);
    } else {
        tap_skip("another user's", "only root can make one");
    }
    unlink(path);
    close(fd);
    free(path);
    free(text);
}

/* Somebody shrinks a segment that is read. */
static void
test_shrink(void)
{
    char *text = xasprintf("shm:shr.%ld?size=64K&wait=5", (long)getpid());
    char *path = xasprintf("/dev/shm/retort-%lu-shr.%ld",
        (unsigned long)geteuid(), (long)getpid());
    struct addr a;
    struct err e = { 0 };
    struct ring *r;
    struct ring_msg m;
    pid_t pid;
    int fd;

    addr_parse(&a, text, &e);
    pid = writer(&a, 1, 1000);
    wait_segment(&a);
    fd = open(path, O_RDWR);
    r = ring_attach(&a, &e);
    if (fd < 0 || !r || ftruncate(fd, 8192) < 0)
        abort();
    ok(ring_next(r, &m, &e) < 0 && e.code == EX_INPUT, "%s", e.msg);
    ring_close(r);
    end_child(pid);
    close(fd);
    free(path);
    free(text);
}

/* Hold a message while the segment shrinks, then read it. */
static void
read_shrunken(const struct addr *a, int fd)
{
    struct err e;
    struct ring *r = ring_attach(a, &e);
    struct ring_msg m;

    if (!r || ring_next(r, &m, &e) != 1 ||
        ftruncate(fd, sysconf(_SC_PAGESIZE)) < 0)
        _exit(1);
    _exit(*(const volatile unsigned char *)m.p == 0 ? 4 : 5);
}

/* A segment that shrinks ends the program with a message, not by SIGBUS. */
static void
test_bus(void)
{
    char *text = xasprintf("shm:bus.%ld?size=64K&wait=5", (long)getpid());
    char *path = xasprintf("/dev/shm/retort-%lu-bus.%ld",
        (unsigned long)geteuid(), (long)getpid());
    struct addr a;
    struct err e = { 0 };
    char said[300];
    int fd, status, talk[2];
    ptrdiff_t n;
    pid_t out, in;

    addr_parse(&a, text, &e);
    out = writer(&a, 1, 1000);
    wait_segment(&a);
    fd = open(path, O_RDWR);
    fflush(stdout);
    if (fd < 0 || pipe(talk) < 0)
        abort();
    if ((in = fork()) == 0) {
        dup2(talk[1], STDERR_FILENO);
        read_shrunken(&a, fd);
    }
    close(talk[1]);
    n = io_read(talk[0], said, sizeof said - 1);
    said[n > 0 ? n : 0] = '\0';
    said[strcspn(said, "\n")] = '\0';
    waitpid(in, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == EX_INPUT,
        "a segment that shrinks under its reader: status %#x",
        (unsigned)status);
    ok(strstr(said, "cannot be read any more") && strstr(said, "shm:bus."),
        "which says so: %s", said);
    end_child(out);
    close(talk[0]);
    close(fd);
    free(path);
    free(text);
}

/* Write the messages of the stream file to a ring; after each, wait for a byte,
 * and then spoil the message. */
static void
spoil(const struct addr *a, const char *file, int from, int to)
{
    struct err e;
    struct ring *r = ring_create(a, &e);
    unsigned char *p, *q;
    char *all, c;
    size_t n, at = 0, len;

    if (!r || io_slurp(file, 1 << 20, &all, &n, &e) < 0)
        _exit(1);
    for (; at < n; at += len) {
        const size_t head = 8 + (size_t)le_get(all + at, 8);

        if (msg_size(all + at, n - at, &len, &e) < 0 ||
            msg_size(all + at, n - at, &len, &e) < 0 ||
            ring_reserve(r, len, head, &q, &e) != 0)
            _exit(1);
        p = q;
        memcpy(p, all + at, len);
        ring_publish(r);
        if (at + len == n || read(from, &c, 1) != 1)
            _exit(0);
        memset(p + head, 0xff, len - head);
        if (write(to, &c, 1) != 1)
            _exit(0);
    }
    _exit(0);
}

/* The reader uses the bytes that it has checked, whatever the writer does
 * then. */
static void
test_spoil(void)
{
    static const struct sample sample = { .batch = 1,
        .messages = 3,
        .docs = 2,
        .T = 8,
        .vocab = 500,
        .mask = 1 };
    char *text = xasprintf("shm:sp.%ld?size=64K&wait=5", (long)getpid());
    struct addr a;
    struct err e = { 0 };
    struct msg_in *in;
    struct batch b = { 0 };
    struct msg m;
    size_t batches = 0, bad = 0;
    int there[2], back[2], k;
    pid_t pid;
    char c = 0;

    addr_parse(&a, text, &e);
    if (pipe(there) < 0 || pipe(back) < 0 ||
        sample_file("spoil", &sample, &e) < 0)
        abort();
    fflush(stdout);
    if ((pid = fork()) == 0)
        spoil(&a, "spoil", there[0], back[1]);
    in = msg_in_open(text, &e);
    while (in && (k = msg_read(in, &m, &e)) > 0) {
        if (write(there[1], &c, 1) != 1 || read(back[0], &c, 1) != 1)
            break;
        if (m.kind != MSG_BATCH)
            continue;
        batches++;
        batch_unpack(&b, &m);
        bad += batch_check(&m.st, 500, 3, NULL, &e) < 0;
        for (size_t i = 0; i < st_find(&m.st, "piece_source")->n; i++)
            bad += st_u16(st_find(&m.st, "piece_source"), i) > 2;
    }
    ok(batches == 3 && bad == 0,
        "%zu batches, spoilt after the check: %zu "
        "are %s",
        batches, bad, e.msg);
    end_child(pid);
    batch_release(&b);
    msg_in_close(in);
    free(text);
}

int
main(void)
{
    tap_scratch();
    test_large();
    test_many();
    test_death();
    test_foreign();
    test_owner();
    test_shrink();
    test_bus();
    test_spoil();
    return done_testing();
}
