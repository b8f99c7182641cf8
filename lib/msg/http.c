/* A client of HTTP/1.1 servers; see http.h. */
#include "msg/http.h"
#include "base/clock.h"

#include <errno.h>
#include <math.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { BYTES = 65536 }; /* bytes read at a time */

int
http_open(struct http_server *s, const char *option, const char *url,
    struct err *e)
{
    const struct addrinfo want = { .ai_socktype = SOCK_STREAM };
    const char *host, *end, *port = "80";
    char *name, *colon;
    int r;

    *s = (struct http_server){ 0 };
    if (strncmp(url, "http://", 7) != 0)
        return err_set(e, EX_USAGE,
            "%s %s: give an address such as http://127.0.0.1:8000; https is "
            "not spoken",
            option, url);
    host = url + 7;
    end = host + strcspn(host, "/");
    s->host = xasprintf("%.*s", (int)(end - host), host);
    s->path = xstrdup(end);
    while (s->path[0] != '\0' && s->path[strlen(s->path) - 1] == '/')
        s->path[strlen(s->path) - 1] = '\0';
    /* the host may be [::1]:8000 */
    name = xstrdup(s->host[0] == '[' ? s->host + 1 : s->host);
    colon = strchr(name, ']');
    colon = strrchr(s->host[0] == '[' && colon != NULL ? colon : name, ':');
    if (colon != NULL) {
        *colon = '\0';
        port = colon + 1;
    }
    name[strcspn(name, s->host[0] == '[' ? "]" : "")] = '\0';
    r = getaddrinfo(name, port, &want, &s->address);
    if (r != 0)
        err_set(e, EX_USAGE, "%s %s: %s", option, url, gai_strerror(r));
    free(name);
    return r != 0 ? -1 : 0;
}

void
http_close(struct http_server *s)
{
    if (s->address != NULL)
        freeaddrinfo(s->address);
    free(s->host);
    free(s->path);
}

/* Let waits on the socket end after `seconds`; 0: never. */
static void
limit_waits(int fd, double seconds)
{
    const struct timeval t = { .tv_sec = (time_t)seconds,
        .tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) };

    if (seconds > 0.0) {
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
    }
}

/* Time of clock_now at which a request that begins now fails; INFINITY: the
 * request has no time limit. */
static double
deadline(const struct http_server *s)
{
    return s->total > 0.0 ? clock_now() + s->total : INFINITY;
}

/* Limit the next wait on the socket to s->seconds, or to the time left until
 * `until` if that is shorter.  -1 and *e: no time is left. */
static int
limit_next(const struct http_server *s, int fd, double until, struct err *e)
{
    const double left = until - clock_now();

    if (left <= 0.0)
        return err_set(e, EX_SYS, "no complete answer in %g s", s->total);
    /* at least 1 ms, as 0 would mean no limit */
    limit_waits(fd,
        isinf(left) || (s->seconds > 0.0 && s->seconds < left)
            ? s->seconds
            : fmax(left, 1e-3));
    return 0;
}

/* Send b.  Errors are not reported: a server that stops reading a request may
 * have answered it, and the answer gives the reason. */
static void
send_bytes(const struct http_server *s, int fd, const struct buf *b,
    double until)
{
    struct err e;
    size_t sent = 0;

    while (sent < b->n && limit_next(s, fd, until, &e) == 0) {
        const ssize_t r = send(fd, b->p + sent, b->n - sent, MSG_NOSIGNAL);

        if (r < 0 && errno == EINTR)
            continue;
        if (r <= 0)
            break;
        sent += (size_t)r;
    }
}

static int
send_until(const struct http_server *s, const char *method, const char *path,
    const struct buf *body, double until, struct err *e)
{
    const int fd = socket(s->address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0),
              on = 1;
    struct buf b = { 0 };

    if (fd < 0 || limit_next(s, fd, until, e) < 0 ||
        connect(fd, s->address->ai_addr, s->address->ai_addrlen) != 0) {
        err_set(e, EX_SYS, "cannot connect:");
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    buf_addf(&b, "%s %s%s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n",
        method, s->path, path, s->host);
    if (body->n > 0)
        buf_addf(&b,
            "Content-Type: application/json\r\nContent-Length: %zu\r\n",
            body->n);
    buf_adds(&b, "\r\n");
    buf_add(&b, body->p, body->n);
    send_bytes(s, fd, &b, until);
    buf_release(&b);
    return fd;
}

int
http_send(const struct http_server *s, const char *method, const char *path,
    const struct buf *body, struct err *e)
{
    return send_until(s, method, path, body, deadline(s), e);
}

int
http_receive(int fd, struct http_answer *a, struct err *e)
{
    static char bytes[BYTES]; /* only the main thread asks servers */
    ssize_t r;

    do
        r = recv(fd, bytes, sizeof bytes, 0);
    while (r < 0 && errno == EINTR);
    if (r < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        return err_set(e, EX_SYS, "no byte came in time");
    if (r < 0)
        return err_set(e, EX_SYS, "the connection is lost:");
    return http_answer_take(a, bytes, (size_t)r, e);
}

int
http_ask(const struct http_server *s, const char *method, const char *path,
    const struct buf *body, struct http_answer *a, struct err *e)
{
    const double until = deadline(s);
    const int fd = send_until(s, method, path, body, until, e);
    int r = fd < 0 ? -1 : 0;

    while (r == 0 && !a->whole) {
        r = limit_next(s, fd, until, e);
        if (r == 0 && (r = http_receive(fd, a, e)) < 0 && !a->over)
            limit_next(s, fd, until, e); /* *e: was it the limit `total`? */
    }
    if (fd >= 0)
        close(fd);
    return r;
}
