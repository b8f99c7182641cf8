/* The client of HTTP servers: a server that is slow or leaves too early. */
#include "base/clock.h"
#include "msg/http.h"
#include "../lib/tap.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WHY = 500 };

/* Start a child that accepts a connection and sends `text`, then a byte every
 * 50 ms (drips), or closes.  Returns its process; *port. */
static pid_t
start_server(const char *text, int drips, int *port)
{
    struct sockaddr_in a = { .sin_family = AF_INET,
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    const struct timespec nap = { 0, 50000000 };
    socklen_t n = sizeof a;
    pid_t pid;
    int c;

    bind(fd, (const struct sockaddr *)&a, sizeof a);
    listen(fd, 5);
    getsockname(fd, (struct sockaddr *)&a, &n);
    *port = ntohs(a.sin_port);
    if ((pid = fork()) == 0) {
        char head[1000];

        if ((c = accept(fd, NULL, NULL)) < 0 || recv(c, head, 1000, 0) < 0)
            _exit(1);
        send(c, text, strlen(text), MSG_NOSIGNAL);
        while (drips && send(c, "x", 1, MSG_NOSIGNAL) == 1)
            nanosleep(&nap, NULL);
        _exit(0);
    }
    close(fd);
    return pid;
}

/* Ask such a server; 1: the answer is whole, 0: *why says what is wrong. */
static int
ask_server(const char *text, int drips, double total, char why[WHY],
    double *took)
{
    int port, r;
    const pid_t pid = start_server(text, drips, &port);
    struct http_server s;
    struct http_answer a = { 0 };
    struct buf none = { 0 };
    struct err e = { 0 };
    char url[60];

    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    if (http_open(&s, "-m", url, &e) < 0)
        return -1;
    s.seconds = 20;
    s.total = total;
    *took = clock_now();
    r = http_ask(&s, "GET", "/", &none, &a, &e) == 0 && a.whole;
    *took = clock_now() - *took;
    snprintf(why, WHY, "%s", e.msg);
    http_answer_release(&a);
    http_close(&s);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return r;
}

int
main(void)
{
    char why[WHY];
    double took;

    ok(ask_server("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nab", 0, 60, why,
           &took) == 1,
        "an answer is read to its length");
    ok(ask_server("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", 0, 60, why,
           &took) == 0 &&
            strstr(why, "broken off") != NULL,
        "an answer that ends before its length is broken off: %s", why);
    ok(ask_server("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n", 1, 0.5,
           why, &took) == 0 &&
            strstr(why, "in 0.5 s") != NULL && took < 15,
        "a server that sends a byte now and then is given up: %s", why);
    ok(ask_server("", 1, 0.5, why, &took) == 0 && took < 15,
        "... before its head has come: %s", why);
    return done_testing();
}
