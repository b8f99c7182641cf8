/* The HTTP server: libmicrohttpd handles all connections in one thread; the
 * thread of reader.h parses bodies. */
#ifndef SERVE_HTTP_H
#define SERVE_HTTP_H

#include "api.h"
#include "queue.h"
#include "base/err.h"

#include <stddef.h>

struct http;
struct http_options {
    const char *host, *port; /* port 0: any that is free */
    const char *key;         /* key that clients must send; NULL: none */
    size_t body;             /* largest body of a request, bytes */
    size_t connections;      /* largest number of open connections */
    double idle; /* seconds after which a silent connection is closed */
    char *const *origins; /* [norigins] whose pages may ask, see origin.h */
    size_t norigins;
};
/* Listen, and answer requests by *api, which must outlive the server.  NULL and
 * *e. */
struct http *http_start(const struct http_options *o, struct api *api,
    struct err *e);
/* Returns "http://HOST:PORT", where the server listens. */
const char *http_url(const struct http *h);
/* Number of accepted requests with a body whose answers have not been sent. */
size_t http_unsent(struct http *h);
/* Accept no more connections. */
void http_stop_accepting(struct http *h);
/* Close all connections and free h. */
void http_stop(struct http *h);
/* Resume the connection of a parked call: `wake` of queue_new. */
void http_wake(struct call *c);

#endif
