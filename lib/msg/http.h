/*
 * A client of HTTP/1.1 servers, without TLS.  Each request has a connection of
 * its own.
 */
#ifndef MSG_HTTP_H
#define MSG_HTTP_H

#include "msg/http_answer.h"

struct addrinfo;

struct http_server {
    char *host;               /* as the header Host has it */
    char *path;               /* put before the path of a request, or "" */
    struct addrinfo *address; /* address of host */
    double seconds; /* a request fails after this time without a byte; 0:
                     * never */
    double total;   /* http_ask fails if the whole answer takes longer; 0:
                     * never */
};

/* Read a URL such as http://HOST:PORT/PATH and look the host up; nothing is
 * sent yet.  -1 and *e (EX_USAGE) "option url: why". */
int http_open(struct http_server *s, const char *option, const char *url,
    struct err *e);
void http_close(struct http_server *s);

/* Connect and send a request.  body: JSON, or empty.  Returns the socket, which
 * the caller closes; -1 and *e (EX_SYS). */
int http_send(const struct http_server *s, const char *method, const char *path,
    const struct buf *body, struct err *e);
/* Wait for more bytes of an answer and decode them.  -1 and *e. */
int http_receive(int fd, struct http_answer *a, struct err *e);
/* Send a request and read its answer whole, whatever its status.  The caller
 * sets a->most to its limit and all other members of *a to 0, and releases *a
 * afterwards, even after an error.  -1 and *e. */
int http_ask(const struct http_server *s, const char *method, const char *path,
    const struct buf *body, struct http_answer *a, struct err *e);

#endif
