/* lib/msg: how the ends of a socket meet: strangers, tokens, a stop, ports */
#include "base/clock.h"
#include "cli/prog.h"
#include "msg/addr.h"
#include "msg/sock.h"
#include "../lib/tap.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char where[64];
static int port;

/* Fork a child that connects to the port of `where` and says p[n], a byte each
 * tenth of a second. */
static pid_t
stranger(const char *p, size_t n)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port) };
    const struct timespec nap = { .tv_nsec = 100000000 };
    const pid_t child = fork();
    int fd = -1, k = -1;

    if (child != 0)
        return child;
    for (int i = 0; i < 100 && k < 0; i++) {
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_STREAM, 0);
        k = connect(fd, (struct sockaddr *)&at, sizeof at);
        if (k < 0)
            nanosleep(&nap, NULL);
    }
    for (size_t i = 0; k == 0 && i < n; i++) {
        nanosleep(&nap, NULL);
        if (write(fd, p + i, 1) != 1)
            break;
    }
    pause();
    _exit(0);
}

static int
meet(enum sock_role role, struct err *e)
{
    struct addr a;

    return addr_parse(&a, where, e) < 0 ? -1 : sock_meet(&a, role, e);
}

/* Strangers that say nothing, or slowly the right thing, are there before an
 * honest peer. */
static void
test_strangers(void)
{
    static const char slow[32] = "retort-ipc-3 wr\n";
    pid_t child[20], honest;
    struct err e = { 0 };
    double t = clock_now();
    int fd, status;

    fflush(stdout);
    for (size_t i = 0; i < 20; i++)
        child[i] = stranger(slow, i % 4 == 0 ? sizeof slow - 4 : 0);
    if ((honest = fork()) == 0) {
        const struct timespec nap = { .tv_sec = 1 };

        nanosleep(&nap, NULL);
        _exit((fd = meet(SOCK_WRITES, &e)) < 0 || write(fd, "x", 1) != 1);
    }
    fd = meet(SOCK_READS, &e);
    t = clock_now() - t;
    waitpid(honest, &status, 0);
    ok(fd >= 0 && status == 0, "an honest peer is heard: %s", e.msg);
    ok(t < 4.0, "before the strangers' time is over: %.1f s", t);
    if (fd >= 0)
        close(fd);
    for (size_t i = 0; i < 20; i++) {
        kill(child[i], SIGKILL);
        waitpid(child[i], NULL, 0);
    }
}

/* A writer with another token than the reader's is refused, one with the same
 * is let in. */
static void
test_token(void)
{
    struct err e = { 0 };
    pid_t other;
    int fd, status;

    setenv("RETORT_TOKEN", "guess", 1);
    fflush(stdout);
    if ((other = fork()) == 0) {
        const struct timespec nap = { .tv_nsec = 300000000 };

        nanosleep(&nap, NULL);
        fd = meet(SOCK_WRITES, &e);
        setenv("RETORT_TOKEN", "secret", 1);
        _exit((fd < 0 && e.code == EX_INPUT ? 0 : 2) |
            (meet(SOCK_WRITES, &e) < 0));
    }
    setenv("RETORT_TOKEN", "secret", 1);
    fd = meet(SOCK_READS, &e);
    waitpid(other, &status, 0);
    ok(fd >= 0 && status == 0,
        "who has not the token is refused, who has it "
        "is let in: %s",
        e.msg);
    if (fd >= 0)
        close(fd);
    unsetenv("RETORT_TOKEN");
}

/* Returns a descriptor that listens at the port. */
static int
listen_there(void)
{
    struct sockaddr_in at = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
        .sin_port = htons((uint16_t)port) };
    const int s = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(s, (struct sockaddr *)&at, sizeof at) < 0 || listen(s, 1) < 0)
        perror("# bind");
    return s;
}

/* Without the token, listen before the honest reader does; when a writer
 * connects, answer it as a reader would.  Returns the number of bytes that the
 * writer says, which are in said [64]. */
static size_t
overhear(unsigned char said[64])
{
    static const char reader[33] = "retort-ipc-3 rd\n0123456789abcdef";
    const struct timeval second = { .tv_sec = 1 };
    const int s = listen_there();
    pid_t writer;
    struct err e = { 0 };
    size_t n = 0;
    ssize_t got;
    int fd;

    fflush(stdout);
    if ((writer = fork()) == 0)
        _exit(meet(SOCK_WRITES, &e) >= 0);
    fd = accept(s, NULL, NULL);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
    while (n < 64 && (got = recv(fd, said + n, 64 - n, 0)) > 0) {
        if (n < 32 && n + (size_t)got >= 32)
            send(fd, reader, 32, MSG_NOSIGNAL);
        n += (size_t)got;
    }
    close(fd);
    close(s);
    waitpid(writer, NULL, 0);
    return n;
}

/* Bytes overheard at one meeting are sent again at the next. */
static void
test_replay(void)
{
    unsigned char said[64], again[64];
    struct err e = { 0 };
    pid_t child;
    size_t n;
    int fd, status;

    setenv("RETORT_TOKEN", "secret", 1);
    snprintf(where, sizeof where, "tcp:127.0.0.1:%d?wait=2", port);
    n = overhear(said);
    ok(overhear(again) == n && n > 32 && memcmp(said, again, n) != 0,
        "an end that connects never says the same twice (%zu bytes)", n);
    fflush(stdout);
    if ((child = fork()) == 0)
        _exit((fd = meet(SOCK_READS, &e)) >= 0 ? 1 : e.code == EX_SYS ? 0 : 2);
    for (int i = 0; i < 20; i++) {
        const struct timespec nap = { .tv_nsec = 20000000 };
        struct sockaddr_in at = { .sin_family = AF_INET,
            .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
            .sin_port = htons((uint16_t)port) };

        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (struct sockaddr *)&at, sizeof at) == 0)
            break;
        close(fd);
        nanosleep(&nap, NULL);
    }
    ok(send(fd, said, n, MSG_NOSIGNAL) == (ssize_t)n,
        "a stranger says what it has overheard");
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
        "a false writer is not let in: the reader waits for another until its "
        "time is "
        "over (%d)",
        WEXITSTATUS(status));
    close(fd);
    snprintf(where, sizeof where, "tcp:127.0.0.1:%d?wait=20", port);
    unsetenv("RETORT_TOKEN");
}

/* A token at one end alone lets nobody in, whichever end connects. */
static void
test_one_token(void)
{
    for (int listens = 0; listens < 2; listens++) {
        struct err e = { 0 };
        pid_t other;
        int status, fd;

        snprintf(where, sizeof where, "tcp:127.0.0.1:%d?wait=2", port);
        fflush(stdout);
        if ((other = fork()) == 0) {
            const struct timespec nap = { .tv_nsec = 500000000 };

            if (listens)
                setenv("RETORT_TOKEN", "secret", 1);
            else
                nanosleep(&nap, NULL);
            _exit(meet(SOCK_WRITES, &e) >= 0);
        }
        if (listens) {
            const struct timespec nap = { .tv_nsec = 500000000 };

            nanosleep(&nap, NULL);
        } else {
            setenv("RETORT_TOKEN", "secret", 1);
        }
        fd = meet(SOCK_READS, &e);
        unsetenv("RETORT_TOKEN");
        waitpid(other, &status, 0);
        ok(fd < 0 && status == 0, "a token of %s alone lets nobody in: %s",
            listens ? "the writer, which listens" : "the reader, which listens",
            e.msg);
    }
    snprintf(where, sizeof where, "tcp:127.0.0.1:%d?wait=20", port);
}

/* SIGTERM stops a writer that waits for an end that keeps silent. */
static void
test_stop(void)
{
    const int s = listen_there();
    struct err e = { 0 };
    pid_t child;
    int fd, status;

    fflush(stdout);
    if ((child = fork()) == 0) {
        prog_catch_stop();
        meet(SOCK_WRITES, &e);
        _exit(e.code);
    }
    fd = accept(s, NULL, NULL);
    kill(child, SIGTERM);
    waitpid(child, &status, 0);
    ok(WIFEXITED(status) && WEXITSTATUS(status) == EX_STOP,
        "SIGTERM during a hello is an interruption: %d", WEXITSTATUS(status));
    close(fd);
    close(s);
}

static void
test_ports(void)
{
    static const char *const bad[] = { "tcp:h:65536", "tcp:h:0", "tcp:h:99999",
        "tcp:h:70000?wait=1", "tcp:h:+80", "tcp:h:1k", "tcp:h:", "tcp:80" };
    struct addr a;
    struct err e;
    size_t n = 0;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        n += addr_parse(&a, bad[i], &e) < 0 && e.code == EX_USAGE;
    ok(n == sizeof bad / sizeof *bad, "%zu bad ports are refused: %s", n,
        e.msg);
    ok(addr_parse(&a, "tcp:[::1]:65535", &e) == 0 &&
            strcmp(a.port, "65535") == 0,
        "the last one is taken");
}

int
main(void)
{
    signal(SIGPIPE, SIG_IGN);
    port = 10000 + (int)(getpid() % 10000);
    snprintf(where, sizeof where, "tcp:127.0.0.1:%d?wait=20", port);
    test_ports();
    test_strangers();
    test_token();
    test_replay();
    test_one_token();
    test_stop();
    return done_testing();
}
