/* A server as a child, and a plain HTTP client, for tests of serve. */
#ifndef TESTS_SERVE_CLIENT_H
#define TESTS_SERVE_CLIENT_H

#include "base/clock.h"
#include "base/mem.h"
#include "../lib/tap.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* a member of requests whose texts are compared as strings: the token of the
 * byte 0 is not drawn */
#define NO_NUL "\"logit_bias\": {\"191\": -100}"

#define SMALL_MODEL "tests/golden/gguf/f32-hf"

struct server {
    pid_t pid;
    int port;
};

static inline void
nap(double seconds)
{
    const struct timespec t = { (time_t)seconds,
        (long)((seconds - (double)(time_t)seconds) * 1e9) };

    nanosleep(&t, NULL);
}

/* Start serve with the options in args, which ends with NULL; its messages go
 * to the file serve.err.  Ends the test if it does not listen in a minute. */
static inline void
server_start(struct server *s, const char *const *args)
{
    const char *build = getenv("BUILD");
    const char *argv[64] = { NULL, "-m", SMALL_MODEL, "--port", "0", "--cache",
        "8M", "-j", "2" };
    char path[4096], line[1000];
    size_t n = 9;
    const double until = clock_now() + 60;

    snprintf(path, sizeof path, "%s/bin/serve", build ? build : "build");
    argv[0] = path;
    while (*args)
        argv[n++] = *args++;
    remove("serve.err");
    if ((s->pid = fork()) == 0) {
        if (!freopen("serve.err", "w", stderr))
            _exit(126);
        execv(path, (char **)argv);
        _exit(127);
    }
    for (s->port = 0; s->port == 0 && clock_now() < until; nap(0.01)) {
        FILE *f = fopen("serve.err", "r");

        while (f && fgets(line, sizeof line, f)) {
            const char *at = strstr(line, "listening at http://");

            if (at)
                s->port = (int)strtol(strchr(at + 20, ':') + 1, NULL, 10);
        }
        if (f)
            fclose(f);
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid)
            break;
    }
    if (s->port == 0) {
        printf("Bail out! serve does not listen\n");
        exit(1);
    }
}

/* Send a signal, wait for the end, and return the exit status; -1: a signal
 * ended it. */
static inline int
server_end(struct server *s, int sig)
{
    int status;

    kill(s->pid, sig);
    if (waitpid(s->pid, &status, 0) != s->pid)
        return -2;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static inline int
dial(int port)
{
    const struct sockaddr_in a = { .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    int fd = -1;

    /* the backlog of a loaded server may be full for a moment */
    for (int i = 0; i < 200; i++, nap(0.02)) {
        fd = socket(AF_INET, SOCK_STREAM, 0);
        if (connect(fd, (const struct sockaddr *)&a, sizeof a) == 0)
            return fd;
        close(fd);
    }
    perror("connect");
    exit(1);
}

static inline void
put_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        const ssize_t r = send(fd, p, n, MSG_NOSIGNAL);

        if (r <= 0)
            return;
        p += r;
        n -= (size_t)r;
    }
}

/* Send a request; more: further header lines, or "".  body NULL: a GET. */
static inline void
put_request(int fd, const char *path, const char *more, const char *body)
{
    struct buf b = { 0 };

    buf_addf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\n%s",
        body ? "POST" : "GET", path, more);
    if (body)
        buf_addf(&b, "Content-Length: %zu\r\n", strlen(body));
    buf_adds(&b, "\r\n");
    buf_adds(&b, body ? body : "");
    put_all(fd, b.p, b.n);
    buf_release(&b);
}

struct answer {
    int status;      /* 0: none came */
    char head[4000]; /* header lines */
    struct buf body; /* without the frames of chunks */
    size_t chunks;   /* number of chunks */
    size_t broken;   /* chunks that are not a whole event */
    int whole;       /* 1: the answer ended as HTTP says */
    json_t *json;    /* the body, or NULL */
    double first;    /* clock_now when the first chunk came */
};

static inline void
answer_release(struct answer *a)
{
    buf_release(&a->body);
    json_decref(a->json);
    *a = (struct answer){ 0 };
}

/* Value of a header line, or NULL. */
static inline const char *
header_of(const struct answer *a, const char *name)
{
    static char value[200];
    const char *p = a->head;

    while (p &&
        !(strncasecmp(p, name, strlen(name)) == 0 && p[strlen(name)] == ':'))
        p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL;
    if (!p)
        return NULL;
    p += strlen(name) + 1;
    p += strspn(p, " ");
    snprintf(value, sizeof value, "%.*s", (int)strcspn(p, "\r\n"), p);
    return value;
}

/* Read a line up to CRLF. */
static inline int
get_line(FILE *f, char *line, size_t n)
{
    if (!fgets(line, (int)n, f))
        return 0;
    line[strcspn(line, "\r\n")] = '\0';
    return 1;
}

static inline int
get_bytes(FILE *f, struct buf *b, size_t n)
{
    buf_reserve(b, n + 1);
    for (; n > 0; n--) {
        const int c = fgetc(f);

        if (c == EOF)
            return 0;
        buf_addc(b, c);
    }
    return 1;
}

static inline void
get_chunks(FILE *f, struct answer *a)
{
    char line[200];

    while (get_line(f, line, sizeof line)) {
        const size_t n = strtoul(line, NULL, 16), from = a->body.n;

        if (n == 0) {
            get_line(f, line, sizeof line);
            a->whole = 1;
            return;
        }
        if (a->chunks++ == 0)
            a->first = clock_now();
        if (!get_bytes(f, &a->body, n) || !get_line(f, line, sizeof line))
            return;
        a->broken += strncmp(a->body.p + from, "data: ", 6) != 0 ||
            strcmp(a->body.p + a->body.n - 2, "\n\n") != 0;
    }
}

/* Read an answer from fd, which stays open. */
static inline void
get_answer(int fd, struct answer *a)
{
    FILE *f = fdopen(dup(fd), "r");
    char line[1000];
    const char *length;
    size_t n = 0;

    *a = (struct answer){ 0 };
    if (!f || !get_line(f, line, sizeof line) ||
        sscanf(line, "HTTP/1.%*d %d", &a->status) != 1) {
        if (f)
            fclose(f);
        return;
    }
    while (get_line(f, line, sizeof line) && line[0])
        n += (size_t)snprintf(a->head + n, sizeof a->head - n, "%s\n", line);
    if (header_of(a, "Transfer-Encoding")) {
        get_chunks(f, a);
    } else if ((length = header_of(a, "Content-Length"))) {
        a->whole = get_bytes(f, &a->body, strtoul(length, NULL, 10));
    } else {
        while (get_bytes(f, &a->body, 1))
            ;
        a->whole = 1;
    }
    fclose(f);
    if (a->body.n > 0)
        a->json = json_loadb(a->body.p, a->body.n, JSON_ALLOW_NUL, NULL);
}

/* Send a request by a connection of its own, and read the answer. */
static inline void
ask_with(int port, const char *path, const char *more, const char *body,
    struct answer *a)
{
    const int fd = dial(port);

    put_request(fd, path, more, body);
    get_answer(fd, a);
    close(fd);
}

static inline void
ask(int port, const char *path, const char *body, struct answer *a)
{
    ask_with(port, path, "", body, a);
}

/* A member by a path such as "choices.0.text"; NULL: there is none. */
static inline const json_t *
member(const json_t *j, const char *path)
{
    char name[100];

    while (j && *path) {
        const size_t n = strcspn(path, ".");

        snprintf(name, sizeof name, "%.*s", (int)n, path);
        j = json_is_array(j) ? json_array_get(j, strtoul(name, NULL, 10))
                             : json_object_get(j, name);
        path += n + (path[n] == '.');
    }
    return j;
}

static inline const char *
text_of(const json_t *j, const char *path)
{
    const char *s = json_string_value(member(j, path));

    return s ? s : "(none)";
}

static inline long long
number_of(const json_t *j, const char *path)
{
    const json_t *v = member(j, path);

    return json_is_integer(v) ? (long long)json_integer_value(v) : -1;
}

/* The events of a stream as a list of objects; *done: it ends with [DONE]. */
static inline json_t *
events_of(const struct answer *a, int *done)
{
    json_t *list = json_array();
    const char *p = a->body.p ? a->body.p : "";

    *done = 0;
    for (const char *end; (end = strstr(p, "\n\n")); p = end + 2) {
        json_t *j =
            json_loadb(p + 6, (size_t)(end - p) - 6, JSON_ALLOW_NUL, NULL);

        if (strncmp(p, "data: [DONE]", 12) == 0)
            *done = end[2] == '\0';
        else if (strncmp(p, "data: ", 6) == 0 && j)
            json_array_append(list, j);
        json_decref(j);
    }
    return list;
}

/* The value of a metric, NAN: there is none. */
static inline double
metric_of(int port, const char *name)
{
    struct answer a;
    double v = NAN;
    char line[200];

    ask(port, "/metrics", NULL, &a);
    snprintf(line, sizeof line, "\n%s", name);
    if (a.body.p && strstr(a.body.p, line)) {
        const char *p = strstr(a.body.p, line) + strlen(line);

        p += strcspn(p, " \n");
        v = *p == ' ' ? strtod(p, NULL) : NAN;
    }
    answer_release(&a);
    return v;
}

/* Wait until a metric is in a range, for 10 seconds at most. */
static inline int
comes_to(int port, const char *name, double low, double high)
{
    for (int i = 0; i < 100; i++, nap(0.1)) {
        const double v = metric_of(port, name);

        if (v >= low && v <= high)
            return 1;
    }
    return 0;
}

#endif
