/* How the two ends of a socket meet, and the frames of tcp: see msg_sock.h */
#define _GNU_SOURCE                     /* struct ucred */
#include "data/msg_sock.h"
#include "base/bytes.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/prog.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <xxhash.h>

enum { HELLO = 16, HELLO_WAIT = 5000, CONNECT_WAIT = 5000 };   /* ms */

/* What can come of one try to meet. */
enum { MET = 1, NOT_YET = 0, FAILED = -1 };

/* Where an address leads: candidates, in order. */
struct place {
    struct sockaddr_storage at;
    socklen_t n;
};
struct places {
    struct place v[8];
    size_t n;
};

static int
add_place(struct places *p, const void *at, size_t n)
{
    if (p->n == sizeof p->v / sizeof *p->v)
        return -1;
    memcpy(&p->v[p->n].at, at, n);
    p->v[p->n++].n = (socklen_t)n;
    return 0;
}

static int
resolve(struct places *p, const struct addr *a, struct err *e)
{
    struct addrinfo hint = { .ai_socktype = SOCK_STREAM }, *list;
    struct sockaddr_un u = { .sun_family = AF_UNIX };
    int k;

    p->n = 0;
    if (a->kind == ADDR_UNIX) {
        if (strlen(a->name) >= sizeof u.sun_path)
            return err_set(e, EX_USAGE, "%s: a path of %zu bytes; sockets "
                "have at most %zu", a->text, strlen(a->name),
                sizeof u.sun_path - 1);
        memcpy(u.sun_path, a->name, strlen(a->name) + 1);
        return add_place(p, &u, sizeof u);
    }
    if ((k = getaddrinfo(a->name, a->port, &hint, &list)) != 0)
        return err_set(e, EX_SYS, "%s: %s: %s", a->text, a->name,
            gai_strerror(k));
    for (const struct addrinfo *i = list; i; i = i->ai_next)
        if (add_place(p, i->ai_addr, i->ai_addrlen) < 0)
            break;
    freeaddrinfo(list);
    return 0;
}

/* Wait for fd as poll does, but notice prog_stopped.  1, 0 time is up, -1. */
static int
wait_fd(int fd, short events, int ms)
{
    const double until = prog_now() + ms / 1000.0;
    struct pollfd p = { .fd = fd, .events = events };

    while (!prog_stopped) {
        const int r = poll(&p, 1, 100);

        if (r > 0)
            return 1;
        if (r < 0 && errno != EINTR)
            return -1;
        if (prog_now() >= until)
            return 0;
    }
    return -1;
}

/* All n bytes, within ms.  0, or -1. */
static int
transfer(int fd, void *p, size_t n, int out, int ms)
{
    for (size_t done = 0; done < n;) {
        ssize_t got;

        if (wait_fd(fd, out ? POLLOUT : POLLIN, ms) <= 0)
            return -1;
        got = out ? send(fd, (char *)p + done, n - done, MSG_NOSIGNAL) :
            recv(fd, (char *)p + done, n - done, 0);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return -1;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Say who we are, and hear it.  MET, or FAILED. */
static int
greet(int fd, const struct addr *a, enum sock_role role, struct err *e)
{
    static const char *const say[2] = { "retort-ipc-1 rd\n",
        "retort-ipc-1 wr\n" };
    char mine[HELLO], got[HELLO];
    struct ucred u;
    socklen_t n = sizeof u;

    if (a->kind == ADDR_UNIX && (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u,
        &n) < 0 || u.uid != geteuid()))
        return err_set(e, EX_INPUT, "%s: the other end is another user's",
            a->text);
    memcpy(mine, say[role], HELLO);
    if (transfer(fd, mine, HELLO, 1, HELLO_WAIT) < 0 ||
        transfer(fd, got, HELLO, 0, HELLO_WAIT) < 0 ||
        (memcmp(got, say[0], HELLO) != 0 && memcmp(got, say[1], HELLO) != 0))
        return err_set(e, EX_INPUT, "%s: what answers there is no program of "
            "retort of this version", a->text);
    if (memcmp(got, mine, HELLO) == 0)
        return err_set(e, EX_USAGE, "%s: both ends %s", a->text,
            role == SOCK_READS ? "read" : "write");
    return MET;
}

/* On a port of the ephemeral range, a socket can connect to itself. */
static int
is_self(int fd)
{
    struct sockaddr_storage a = { 0 }, b = { 0 };
    socklen_t n = sizeof a, m = sizeof b;

    return getsockname(fd, (struct sockaddr *)&a, &n) == 0 &&
        getpeername(fd, (struct sockaddr *)&b, &m) == 0 &&
        a.ss_family != AF_UNIX && n == m && memcmp(&a, &b, n) == 0;
}

static int
new_socket(const struct place *p)
{
    return socket(p->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
        0);
}

static int
connect_to(const struct place *p)
{
    const int fd = new_socket(p);
    int bad = 0;
    socklen_t n = sizeof bad;

    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&p->at, p->n) < 0) {
        bad = errno;
        if (bad == EINPROGRESS) {
            const int r = wait_fd(fd, POLLOUT, CONNECT_WAIT);

            bad = ETIMEDOUT;
            if (r > 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &bad, &n) < 0)
                bad = errno;
        }
    }
    if (bad == 0 && is_self(fd))
        bad = ECONNREFUSED;
    if (bad == 0)
        return fd;
    close(fd);
    errno = bad;
    return -1;
}

static int
try_connect(int *fd, const struct places *p, const struct addr *a,
    enum sock_role role, struct err *e)
{
    int k;

    for (size_t i = 0; i < p->n; i++) {
        if ((*fd = connect_to(&p->v[i])) < 0)
            continue;
        if ((k = greet(*fd, a, role, e)) == MET)
            return MET;
        close(*fd);
        return k;
    }
    /* Nobody is there yet, or it is about to be. */
    if (errno == ECONNREFUSED || errno == ENOENT || errno == ETIMEDOUT ||
        errno == EAGAIN || errno == EINTR || errno == ECONNRESET ||
        errno == EADDRNOTAVAIL)
        return NOT_YET;
    return err_set(e, EX_SYS, "%s: connect:", a->text);
}

/* The folder of a socket, locked: between a look at the socket and its
 * removal nobody else may make a new one. */
static int
lock_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash ? xasprintf("%.*s", slash == path ? 1 :
        (int)(slash - path), path) : xstrdup(".");
    const int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(dir);
    if (fd >= 0 && flock(fd, LOCK_EX) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A socket that nobody listens on is removed.  0; -1: the path is taken. */
static int
clear_path(const struct place *p, const struct addr *a, struct err *e)
{
    struct stat st;
    int fd;

    if (lstat(a->name, &st) < 0)
        return errno == ENOENT ? 0 : err_set(e, EX_SYS, "%s:", a->text);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, EX_USAGE, "%s: there is a file of that name, and it "
            "is no socket", a->text);
    fd = new_socket(p);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&p->at, p->n) < 0
        && errno == ECONNREFUSED)
        unlink(a->name);
    if (fd >= 0)
        close(fd);
    return 0;
}

static int
listen_unix(int *fd, const struct place *p, const struct addr *a,
    struct err *e)
{
    const int folder = lock_folder(a->name);
    int k = NOT_YET;

    if (folder < 0)
        return err_set(e, EX_SYS, "%s: its folder:", a->text);
    if (clear_path(p, a, e) < 0)
        k = FAILED;
    else if ((*fd = new_socket(p)) < 0)
        k = err_set(e, EX_SYS, "%s: socket:", a->text);
    else if (fchmod(*fd, 0600) < 0 || bind(*fd, (const struct sockaddr *)
        &p->at, p->n) < 0 || listen(*fd, 4) < 0) {
        if (errno != EADDRINUSE)
            k = err_set(e, EX_SYS, "%s: bind:", a->text);
        close(*fd);
    } else
        k = MET;
    close(folder);
    return k;
}

/* Listen on the first place that is of this machine. */
static int
listen_tcp(int *fd, const struct places *p, const struct addr *a,
    struct err *e)
{
    const int on = 1;

    for (size_t i = 0; i < p->n; i++) {
        if ((*fd = new_socket(&p->v[i])) < 0)
            continue;
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(*fd, (const struct sockaddr *)&p->v[i].at, p->v[i].n) == 0 &&
            listen(*fd, 4) == 0)
            return MET;
        close(*fd);
        if (errno == EADDRINUSE)
            return NOT_YET;
        if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT)
            return err_set(e, EX_SYS, "%s: bind:", a->text);
    }
    return NOT_YET;
}

/* Listen, take the first that greets well, and listen no more. */
static int
try_listen(int *fd, const struct places *p, const struct addr *a,
    enum sock_role role, double began, int *told, struct err *e)
{
    const char *whom = role == SOCK_READS ? "writer" : "reader";
    int s = -1, place = 0, k = a->kind == ADDR_UNIX ?
        listen_unix(&s, p->v, a, e) : listen_tcp(&s, p, a, e);

    if (k != MET)
        return k;
    if (a->kind == ADDR_UNIX)
        place = io_remember(a->name);
    do {
        struct err why;

        k = addr_wait(a, began, whom, told, e);
        if (k == 0 && wait_fd(s, POLLIN, 100) > 0 &&
            (*fd = accept4(s, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK))
            >= 0) {
            k = greet(*fd, a, role, &why);
            if (k < 0) {
                close(*fd);
                vnote("%s; waiting for another %s", why.msg, whom);
                k = 0;
            }
        }
    } while (k == 0);
    if (a->kind == ADDR_UNIX)
        unlink(a->name);
    io_forget(place);
    close(s);
    return k;
}

/* Notice a machine that is no longer there: within two minutes. */
static void
set_options(int fd, const struct addr *a)
{
    const int on = 1, idle = 60, every = 15, count = 4;

    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    if (a->kind != ADDR_TCP)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

int
sock_meet(const struct addr *a, enum sock_role role, struct err *e)
{
    const char *whom = role == SOCK_READS ? "writer" : "reader";
    const double began = prog_now();
    struct places p;
    int fd = -1, told = 0, k;

    if (resolve(&p, a, e) < 0)
        return -1;
    do {
        if ((k = try_connect(&fd, &p, a, role, e)) == NOT_YET)
            k = try_listen(&fd, &p, a, role, began, &told, e);
        if (k == NOT_YET)
            k = addr_wait(a, began, whom, &told, e);
    } while (k == NOT_YET);
    if (k < 0)
        return -1;
    set_options(fd, a);
    return fd;
}

/* ---- a descriptor ---- */

/* Aligned as a control message must be. */
union control {
    struct cmsghdr h;
    char room[CMSG_SPACE(sizeof(int))];
};

int
sock_give(int s, const struct addr *a, int fd, struct err *e)
{
    char c = 'm';
    struct iovec v = { &c, 1 };
    union control u = { 0 };
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u,
        .msg_controllen = sizeof u };

    u.h.cmsg_level = SOL_SOCKET;
    u.h.cmsg_type = SCM_RIGHTS;
    u.h.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&u.h), &fd, sizeof fd);
    if (sendmsg(s, &m, MSG_NOSIGNAL) != 1 ||
        transfer(s, &c, 1, 0, HELLO_WAIT) < 0)
        return err_set(e, EX_SYS, "%s: the reader did not take the memory",
            a->text);
    return 0;
}

int
sock_take(int s, const struct addr *a, struct err *e)
{
    char c;
    struct iovec v = { &c, 1 };
    union control u;
    struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &u,
        .msg_controllen = sizeof u };
    int fd;

    if (wait_fd(s, POLLIN, HELLO_WAIT) <= 0 ||
        recvmsg(s, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m) ||
        u.h.cmsg_level != SOL_SOCKET || u.h.cmsg_type != SCM_RIGHTS ||
        u.h.cmsg_len != CMSG_LEN(sizeof fd))
        return err_set(e, EX_INPUT, "%s: the writer has handed over no memory",
            a->text);
    memcpy(&fd, CMSG_DATA(&u.h), sizeof fd);
    return fd;
}

int
sock_thank(int s, const struct addr *a, struct err *e)
{
    char c = 'k';

    if (transfer(s, &c, 1, 1, HELLO_WAIT) < 0)
        return err_set(e, EX_INPUT, "%s: the writer has gone", a->text);
    return 0;
}

/* ---- frames ---- */

void
sock_frame_put(unsigned char head[SOCK_FRAME], uint64_t n, uint64_t hash)
{
    memcpy(head, "rtf1", 4);
    le_put(head + 8, n, 8);
    le_put(head + 16, hash, 8);
    le_put(head + 4, XXH3_64bits(head + 8, 16), 4);
}

int
sock_frame_get(const unsigned char head[SOCK_FRAME], uint64_t *n,
    uint64_t *hash)
{
    if (memcmp(head, "rtf1", 4) != 0 ||
        le_get(head + 4, 4) != (XXH3_64bits(head + 8, 16) & 0xffffffff))
        return -1;
    *n = le_get(head + 8, 8);
    *hash = le_get(head + 16, 8);
    return 0;
}
