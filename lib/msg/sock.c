/* How the two ends of a socket meet: see sock.h */
#define _GNU_SOURCE /* struct ucred */
#include "msg/sock.h"
#include "msg/proof.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"

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

enum { GUESTS = 16 };
enum { HELLO_WAIT = 5000, CONNECT_WAIT = 5000 }; /* milliseconds */
#define TOKEN "RETORT_TOKEN"

/* Results of an attempt to connect, to listen or to hear a hello. */
enum { MET = 1, NOT_YET = 0, FAILED = -1 };

/* place: a socket address; places: those that a stream's address resolves to,
 * in order. */
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
            return err_set(e, EX_USAGE,
                "%s: the path has %zu bytes; give one of at most %zu", a->text,
                strlen(a->name), sizeof u.sun_path - 1);
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

/* Wait until fd is ready for `events`, for at most ms milliseconds.  Returns 1;
 * 0: fd is not ready; -1: an error, or stop_asked is set. */
static int
wait_fd(int fd, short events, int ms)
{
    const double until = clock_now() + ms / 1000.0;
    struct pollfd p = { .fd = fd, .events = events };

    while (!stop_asked) {
        const int r = poll(&p, 1, 100);

        if (r > 0)
            return 1;
        if (r < 0 && errno != EINTR)
            return -1;
        if (clock_now() >= until)
            return 0;
    }
    return -1;
}

/* Send (out = 1) or receive all n bytes within ms milliseconds.  0, or -1. */
static int
transfer(int fd, void *p, size_t n, int out, int ms)
{
    const double until = clock_now() + ms / 1000.0;

    for (size_t done = 0; done < n;) {
        const double left = until - clock_now();
        ssize_t got;

        if (wait_fd(fd, out ? POLLOUT : POLLIN, (int)(left * 1000.0)) <= 0)
            return -1;
        got = out ? send(fd, (char *)p + done, n - done, MSG_NOSIGNAL)
                  : recv(fd, (char *)p + done, n - done, 0);
        if (got == 0 || (got < 0 && errno != EINTR && errno != EAGAIN))
            return -1;
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

/* Set *e to the error `why`, or to "interrupted" if stop_asked is set. */
static int
set_meeting_error(const struct addr *a, int code, const char *why,
    struct err *e)
{
    return stop_asked ? err_set(e, EX_STOP, "%s: interrupted", a->text)
                      : err_set(e, code, "%s: %s", a->text, why);
}

/* ---- who is there ---- */

static int
both_ends(const struct addr *a, enum sock_role role, struct err *e)
{
    return err_set(e, EX_USAGE, "%s: both ends %s; one must read and one write",
        a->text, role == SOCK_READS ? "read" : "write");
}

/* A connection whose other end has not yet proved who it is. */
struct guest {
    int fd;
    double until;         /* clock_now() at which the guest is dropped */
    enum proof_side side; /* the side of this end */
    size_t n;             /* bytes of `said` that have arrived */
    /* mine: hello of this end; said: hello and proof of the other end */
    unsigned char mine[HELLO_SIZE], said[HELLO_SIZE + PROOF_SIZE];
};

/* The first 16 bytes of a hello: protocol and role.  16 random bytes follow. */
static const char *
role_name(enum sock_role role)
{
    return role == SOCK_READS ? "retort-ipc-3 rd\n" : "retort-ipc-3 wr\n";
}

static int
new_guest(struct guest *g, int fd, enum proof_side side, enum sock_role role,
    const struct addr *a, struct err *e)
{
    *g = (struct guest){ .fd = fd,
        .until = clock_now() + HELLO_WAIT / 1000.0,
        .side = side };
    memcpy(g->mine, role_name(role), 16);
    return getentropy(g->mine + 16, 16) < 0
        ? err_set(e, EX_SYS, "%s: random bytes:", a->text)
        : 0;
}

/* Compute the proof of `side`: this end shows that of g->side, and the other
 * end must show that of the other side. */
static void
set_proof(unsigned char p[PROOF_SIZE], const struct guest *g,
    const struct addr *a, enum proof_side side)
{
    const int connects = g->side == PROOF_CONNECTS;

    proof_make(p, a->kind == ADDR_TCP ? getenv(TOKEN) : NULL, side,
        connects ? g->mine : g->said, connects ? g->said : g->mine);
}

static int
send_proof(struct guest *g, const struct addr *a)
{
    unsigned char p[PROOF_SIZE];

    set_proof(p, g, a, g->side);
    return transfer(g->fd, p, PROOF_SIZE, 1, HELLO_WAIT);
}

static int
foreign(const struct addr *a, struct err *e)
{
    return set_meeting_error(a, EX_INPUT,
        "what answers there is no program of retort of this version", e);
}

/* Receive what has come from g, up to n bytes in all.  MET: all n have come;
 * NOT_YET; FAILED. */
static int
hear_more(struct guest *g, size_t n, const struct addr *a, struct err *e)
{
    const ssize_t got =
        g->n < n ? recv(g->fd, g->said + g->n, n - g->n, MSG_DONTWAIT) : 1;
    const int wait = got < 0 && (errno == EAGAIN || errno == EINTR);

    if (g->n >= n)
        return 1;
    if (got <= 0 && !wait)
        return set_meeting_error(a, EX_INPUT,
            "the other end has closed the connection: it has met somebody "
            "else, or its " TOKEN " is another one",
            e);
    g->n += got > 0 ? (size_t)got : 0;
    if (g->n == n)
        return 1;
    return clock_now() < g->until
        ? NOT_YET
        : set_meeting_error(a, EX_INPUT,
              "what answers there does not say what it is", e);
}

/* Answer g's hello: the listening end with its own hello, the connecting end
 * with its proof. */
static int
answer(struct guest *g, const struct addr *a, enum sock_role role,
    struct err *e)
{
    const enum sock_role other = role == SOCK_READS ? SOCK_WRITES : SOCK_READS;
    int r;

    if (memcmp(g->said, role_name(role), 16) == 0)
        return both_ends(a, role, e);
    if (memcmp(g->said, role_name(other), 16) != 0)
        return foreign(a, e);
    r = g->side == PROOF_CONNECTS
        ? send_proof(g, a)
        : transfer(g->fd, g->mine, HELLO_SIZE, 1, HELLO_WAIT);
    return r < 0 ? set_meeting_error(a, EX_INPUT, "the other end has gone", e)
                 : 0;
}

/* Go on with g.  MET: both ends have given their proofs; NOT_YET; FAILED. */
static int
hear_guest(struct guest *g, const struct addr *a, enum sock_role role,
    struct err *e)
{
    enum { COMMON = 13 }; /* bytes that all hellos begin with */
    const size_t had = g->n;
    unsigned char right[PROOF_SIZE];
    int k = hear_more(g, HELLO_SIZE, a, e);

    if (memcmp(g->said, g->mine, g->n < COMMON ? g->n : COMMON) != 0)
        return foreign(a, e);
    if (k > 0 && had < HELLO_SIZE && answer(g, a, role, e) < 0)
        return FAILED;
    if (k > 0)
        k = hear_more(g, sizeof g->said, a, e);
    if (k <= 0)
        return k;
    set_proof(right, g, a,
        g->side == PROOF_CONNECTS ? PROOF_LISTENS : PROOF_CONNECTS);
    if (!proof_same(g->said + HELLO_SIZE, right))
        return set_meeting_error(a, EX_INPUT,
            "the other end has another " TOKEN, e);
    if (g->side == PROOF_LISTENS && send_proof(g, a) < 0)
        return set_meeting_error(a, EX_INPUT, "the other end has gone", e);
    return MET;
}

/* Check that the process at the other end of a unix socket is this user's. */
static int
check_user(int fd, const struct addr *a, struct err *e)
{
    struct ucred u;
    socklen_t n = sizeof u;

    if (a->kind == ADDR_UNIX &&
        (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &u, &n) < 0 ||
            u.uid != geteuid()))
        return err_set(e, EX_INPUT, "%s: the other end is another user's",
            a->text);
    return 0;
}

/* After connecting: send our hello, and exchange proofs.  MET, or FAILED. */
static int
greet(int fd, const struct addr *a, enum sock_role role, double until,
    struct err *e)
{
    struct guest g;
    int k = NOT_YET;

    if (check_user(fd, a, e) < 0 ||
        new_guest(&g, fd, PROOF_CONNECTS, role, a, e) < 0)
        return FAILED;
    if (until > g.until)
        g.until = until;
    if (transfer(fd, g.mine, HELLO_SIZE, 1, HELLO_WAIT) < 0)
        return set_meeting_error(a, EX_INPUT,
            "the other end has closed the connection", e);
    while (k == NOT_YET) {
        (void)wait_fd(fd, POLLIN, 100);
        if (stop_asked)
            return set_meeting_error(a, EX_STOP, "", e);
        k = hear_guest(&g, a, role, e);
    }
    return k;
}

/* Is fd connected to itself, as can happen in the ephemeral range of ports? */
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
    enum sock_role role, double until, struct err *e)
{
    int k;

    for (size_t i = 0; i < p->n; i++) {
        if ((*fd = connect_to(&p->v[i])) < 0)
            continue;
        if ((k = greet(*fd, a, role, until, e)) == MET)
            return MET;
        close(*fd);
        return k;
    }
    /* nobody listens there yet, or the listener is not ready */
    if (errno == ECONNREFUSED || errno == ENOENT || errno == ETIMEDOUT ||
        errno == EAGAIN || errno == EINTR || errno == ECONNRESET ||
        errno == EADDRNOTAVAIL)
        return NOT_YET;
    return err_set(e, EX_SYS, "%s: connect:", a->text);
}

/* Lock the folder of a socket.  Else another process could create a new socket
 * at the path after we found the old one unused and before we remove it. */
static int
lock_folder(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *dir = slash
        ? xasprintf("%.*s", slash == path ? 1 : (int)(slash - path), path)
        : xstrdup(".");
    const int fd = io_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(dir);
    if (fd >= 0 && io_flock(fd, LOCK_EX) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Remove a socket that nobody listens on.  0; -1 and *e: the path is not a
 * socket's. */
static int
clear_path(const struct place *p, const struct addr *a, struct err *e)
{
    struct stat st;
    int fd;

    if (lstat(a->name, &st) < 0)
        return errno == ENOENT ? 0 : err_set(e, EX_SYS, "%s:", a->text);
    if (!S_ISSOCK(st.st_mode))
        return err_set(e, EX_USAGE,
            "%s: there is a file of that name, and it is no socket: give "
            "another name",
            a->text);
    fd = new_socket(p);
    if (fd >= 0 && connect(fd, (const struct sockaddr *)&p->at, p->n) < 0 &&
        errno == ECONNREFUSED)
        unlink(a->name);
    if (fd >= 0)
        close(fd);
    return 0;
}

static int
listen_unix(int *fd, const struct place *p, const struct addr *a, struct err *e)
{
    const int folder = lock_folder(a->name);
    int k = NOT_YET;

    if (folder < 0)
        return err_set(e, EX_SYS, "%s: its folder:", a->text);
    if (clear_path(p, a, e) < 0)
        k = FAILED;
    else if ((*fd = new_socket(p)) < 0)
        k = err_set(e, EX_SYS, "%s: socket:", a->text);
    else if (fchmod(*fd, 0600) < 0 ||
        bind(*fd, (const struct sockaddr *)&p->at, p->n) < 0 ||
        listen(*fd, 4) < 0) {
        if (errno != EADDRINUSE)
            k = err_set(e, EX_SYS, "%s: bind:", a->text);
        close(*fd);
    } else
        k = MET;
    close(folder);
    return k;
}

static int
is_loopback(const struct place *p)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;

    memcpy(&v4, &p->at, sizeof v4);
    memcpy(&v6, &p->at, sizeof v6);
    return p->at.ss_family == AF_INET
        ? ntohl(v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET
        : memcmp(&v6.sin6_addr, &in6addr_loopback, sizeof v6.sin6_addr) == 0;
}

/* If other machines can connect, note who is let in. */
static void
note_open_port(const struct place *p, const struct addr *a)
{
    const char *token = getenv(TOKEN);

    if (is_loopback(p))
        return;
    note("%s: listens where other machines can connect: %s", a->text,
        token && *token ? "only a program with the same " TOKEN " is let in"
                        : "whoever reaches the port is let in; set " TOKEN
                          " to the same secret word at both ends");
}

/* Listen on the first of the addresses that is this machine's. */
static int
listen_tcp(int *fd, const struct places *p, const struct addr *a, struct err *e)
{
    const int on = 1;

    for (size_t i = 0; i < p->n; i++) {
        if ((*fd = new_socket(&p->v[i])) < 0)
            continue;
        setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        if (bind(*fd, (const struct sockaddr *)&p->v[i].at, p->v[i].n) == 0 &&
            listen(*fd, GUESTS) == 0) {
            note_open_port(&p->v[i], a);
            return MET;
        }
        close(*fd);
        if (errno == EADDRINUSE)
            return NOT_YET;
        if (errno != EADDRNOTAVAIL && errno != EAFNOSUPPORT)
            return err_set(e, EX_SYS, "%s: bind:", a->text);
    }
    return NOT_YET;
}

/* Connections whose other ends have not given their proof yet.  They are read
 * in turn, so that a slow one does not hold up the others. */
struct guests {
    struct guest v[GUESTS];
    size_t n;
};

static void
drop_guest(struct guests *g, size_t i)
{
    close(g->v[i].fd);
    memmove(g->v + i, g->v + i + 1, (--g->n - i) * sizeof *g->v);
}

/* Accept a connection if one waits at socket s; if there are too many guests,
 * drop the oldest. */
static void
let_in(struct guests *g, int s, const struct addr *a, enum sock_role role,
    const char *whom)
{
    const int fd = accept4(s, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    struct err why;

    if (fd < 0)
        return;
    if (g->n == GUESTS)
        drop_guest(g, 0);
    if (check_user(fd, a, &why) == 0 &&
        new_guest(&g->v[g->n], fd, PROOF_LISTENS, role, a, &why) == 0) {
        g->n++;
        return;
    }
    vnote("%s; waiting for another %s", why.msg, whom);
    close(fd);
}

/* Read from all connections.  MET: *fd is the connection whose other end has
 * given its proof. */
static int
hear_all(struct guests *g, int *fd, const struct addr *a, enum sock_role role,
    const char *whom)
{
    struct err why;

    for (size_t i = 0; i < g->n;) {
        const int k = hear_guest(&g->v[i], a, role, &why);

        if (k == NOT_YET) {
            i++;
            continue;
        }
        if (k == MET) {
            *fd = g->v[i].fd;
            g->v[i] = g->v[--g->n];
            return MET;
        }
        vnote("%s; waiting for another %s", why.msg, whom);
        drop_guest(g, i);
    }
    return NOT_YET;
}

/* Wait a moment for a new connection or for input. */
static void
wait_guests(const struct guests *g, int s)
{
    struct pollfd p[1 + GUESTS] = { { .fd = s, .events = POLLIN } };

    for (size_t i = 0; i < g->n; i++)
        p[1 + i] = (struct pollfd){ .fd = g->v[i].fd, .events = POLLIN };
    (void)poll(p, 1 + g->n, 100);
}

/* Listen until the other end of a connection has given its proof; then close
 * the socket and the other connections. */
static int
try_listen(int *fd, const struct places *p, const struct addr *a,
    enum sock_role role, double began, int *told, struct err *e)
{
    const char *whom = role == SOCK_READS ? "writer" : "reader";
    struct guests g = { .n = 0 };
    int s = -1, place = 0,
        k = a->kind == ADDR_UNIX ? listen_unix(&s, p->v, a, e)
                                 : listen_tcp(&s, p, a, e);

    if (k != MET)
        return k;
    if (a->kind == ADDR_UNIX)
        place = io_remember(a->name);
    do {
        if ((k = addr_wait(a, began, whom, told, e)) < 0)
            break;
        wait_guests(&g, s);
        let_in(&g, s, a, role, whom);
        k = hear_all(&g, fd, a, role, whom);
    } while (k == NOT_YET);
    while (g.n > 0)
        drop_guest(&g, g.n - 1);
    if (a->kind == ADDR_UNIX)
        unlink(a->name);
    io_forget(place);
    close(s);
    return k;
}

/* Turn on TCP keep-alive, which finds within two minutes that the other machine
 * is cut off. */
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
    const double began = clock_now();
    struct places p;
    int fd = -1, told = 0, k;

    if (resolve(&p, a, e) < 0)
        return -1;
    do {
        if ((k = try_connect(&fd, &p, a, role, began + a->wait, e)) == NOT_YET)
            k = try_listen(&fd, &p, a, role, began, &told, e);
        if (k == NOT_YET)
            k = addr_wait(a, began, whom, &told, e);
    } while (k == NOT_YET);
    if (k < 0)
        return -1;
    set_options(fd, a);
    return fd;
}

/* ---- passing a descriptor ---- */

/* aligned for a control message */
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
    struct msghdr m = { .msg_iov = &v,
        .msg_iovlen = 1,
        .msg_control = &u,
        .msg_controllen = sizeof u };

    u.h.cmsg_level = SOL_SOCKET;
    u.h.cmsg_type = SCM_RIGHTS;
    u.h.cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(&u.h), &fd, sizeof fd);
    if (sendmsg(s, &m, MSG_NOSIGNAL) != 1 ||
        transfer(s, &c, 1, 0, HELLO_WAIT) < 0)
        return set_meeting_error(a, EX_SYS,
            "the reader did not take the memory", e);
    return 0;
}

int
sock_take(int s, const struct addr *a, struct err *e)
{
    char c;
    struct iovec v = { &c, 1 };
    union control u;
    struct msghdr m = { .msg_iov = &v,
        .msg_iovlen = 1,
        .msg_control = &u,
        .msg_controllen = sizeof u };
    int fd;

    if (wait_fd(s, POLLIN, HELLO_WAIT) <= 0 ||
        recvmsg(s, &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m) ||
        u.h.cmsg_level != SOL_SOCKET || u.h.cmsg_type != SCM_RIGHTS ||
        u.h.cmsg_len != CMSG_LEN(sizeof fd))
        return set_meeting_error(a, EX_INPUT,
            "the writer has handed over no memory", e);
    memcpy(&fd, CMSG_DATA(&u.h), sizeof fd);
    return fd;
}

int
sock_thank(int s, const struct addr *a, struct err *e)
{
    char c = 'k';

    if (transfer(s, &c, 1, 1, HELLO_WAIT) < 0)
        return set_meeting_error(a, EX_INPUT, "the writer has gone", e);
    return 0;
}
