/* The HTTP server: connections, by libmicrohttpd, in one thread. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "api.h"
#include "queue.h"
#include "base/err.h"

#include <stddef.h>

struct http;
struct http_options {
    const char *host, *port; /* port 0: any that is free */
    const char *key;         /* clients must send it, or NULL */
    size_t body;             /* bytes of a request's body, at most */
    size_t connections;
    double idle; /* seconds after which a silent connection is closed */
};
/* Listen, and answer by *api, which outlives it.  NULL and *e. */
struct http *http_start(const struct http_options *o, struct api *api,
    struct err *e);
/* "http://HOST:PORT" where it listens. */
const char *http_url(const struct http *h);
/* Accept no more connections. */
void http_close(struct http *h);
/* Close all connections and free h. */
void http_stop(struct http *h);
/* The wake of a struct queue. */
void http_wake(struct call *c);

#endif
