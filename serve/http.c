/* Connections; see http.h. */
#include "http.h"
#include "origin.h"
#include "reader.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/thread.h"

#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    HEADERS = 16384, /* bytes of libmicrohttpd's memory for a connection */
    WAIT_MS = 1000   /* longest wait of the thread for events, milliseconds */
};

/* Members that are not atomic are set before the HTTP thread starts. */
struct http {
    struct MHD_Daemon *daemon;
    struct http_options o;
    struct api *api;
    struct reader *reader;
    atomic_size_t unsent; /* see http_unsent */
    pthread_t thread;
    int bell; /* eventfd that wakes the thread */
    /* 1: http_stop_accepting, http_stop was called, in another thread than the
     * one that serves */
    atomic_int closing, stopping;
    int guarded; /* 1: requests of foreign pages are refused, see origin.h */
    char url[300];
};

/* A request that is being received or answered.  Other threads read con, h and
 * reading; everything else is used by the HTTP thread alone. */
struct exchange {
    struct http *h;
    struct MHD_Connection *con;
    enum api_path path;
    int options;      /* 1: the method is OPTIONS */
    const char *cors; /* the request's origin, if --origin lists it; or NULL */
    struct buf body;
    size_t held; /* bytes of body that count as held, see queue.h */
    struct reading reading;
    int reads;          /* 1: reading.answer has not been taken yet */
    struct refusal why; /* status 0: not refused so far */
    struct call *call;  /* NULL: the engine's thread is not needed */
    int status;         /* HTTP status that was sent; 0: none yet */
};

static void
ring_bell(struct http *h)
{
    const uint64_t one = 1;

    /* an eventfd can be written until its counter reaches 2^64 - 1 */
    if (write(h->bell, &one, sizeof one) < 0)
        vnote("http: the thread is not woken");
}

void
http_wake(struct call *c)
{
    struct exchange *x = c->con;

    MHD_resume_connection(x->con);
    ring_bell(x->h);
}

/* --- answers --- */

static const char *
allowed_methods(const struct exchange *x)
{
    return api_is_post(x->path) ? "POST, OPTIONS" : "GET, HEAD, OPTIONS";
}

/* Let a browser give the answer to the pages of an origin. */
static void
allow_page(struct MHD_Response *r, const char *origin)
{
    MHD_add_response_header(r, "Access-Control-Allow-Origin", origin);
    MHD_add_response_header(r, "Access-Control-Expose-Headers",
        "Retry-After, x-should-retry");
    MHD_add_response_header(r, "Vary", "Origin");
}

static enum MHD_Result
send_response(struct MHD_Connection *con, struct exchange *x, int status,
    struct MHD_Response *r, const char *type)
{
    enum MHD_Result sent;

    if (type != NULL)
        MHD_add_response_header(r, "Content-Type", type);
    if (status == 429)
        MHD_add_response_header(r, "Retry-After", "1");
    /* without this header OpenAI's clients send the request twice more */
    if (status == 429 || status >= 500)
        MHD_add_response_header(r, "x-should-retry", "false");
    if (status == 401)
        MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
    if (status == 405)
        MHD_add_response_header(r, "Allow", allowed_methods(x));
    if (x->cors != NULL)
        allow_page(r, x->cors);
    if (queue_drains(x->h->api->queue))
        MHD_add_response_header(r, "Connection", "close");
    sent = MHD_queue_response(con, (unsigned)status, r);
    MHD_destroy_response(r);
    x->status = status;
    return sent;
}

/* Send a body, and leave *body empty. */
static enum MHD_Result
send_body(struct MHD_Connection *con, struct exchange *x, int status,
    struct buf *body, const char *type)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(body->n, body->p,
        MHD_RESPMEM_MUST_FREE);

    if (r == NULL)
        return MHD_NO;
    *body = (struct buf){ 0 };
    return send_response(con, x, status, r, type);
}

static enum MHD_Result
send_refusal(struct MHD_Connection *con, struct exchange *x)
{
    struct buf body = { 0 };

    reply_error(&body, &x->why);
    return send_body(con, x, x->why.status, &body, "application/json");
}

/* Answer OPTIONS: which methods a path takes and, for pages of a listed origin,
 * which headers: all that their browser asks for, of which this server reads
 * only the key's. */
static enum MHD_Result
send_options(struct MHD_Connection *con, struct exchange *x)
{
    struct MHD_Response *r =
        MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
    const char *headers = MHD_lookup_connection_value(con, MHD_HEADER_KIND,
        "Access-Control-Request-Headers");

    if (r == NULL)
        return MHD_NO;
    MHD_add_response_header(r, "Allow", allowed_methods(x));
    if (x->cors != NULL) {
        MHD_add_response_header(r, "Access-Control-Allow-Methods",
            allowed_methods(x));
        MHD_add_response_header(r, "Access-Control-Allow-Headers",
            headers != NULL ? headers : "Authorization, Content-Type");
        MHD_add_response_header(r, "Access-Control-Max-Age", "600");
    }
    return send_response(con, x, 204, r, NULL);
}

/* Tell libmicrohttpd to leave the connection alone until the engine's thread
 * resumes it.  The queue's lock must be held. */
static void
park_call(struct exchange *x)
{
    x->call->parked = 1;
    MHD_suspend_connection(x->con);
}

/* Copy the next bytes of a streamed answer to `to`, for libmicrohttpd. */
static ssize_t
next_stream_bytes(void *ctx, uint64_t at, char *to, size_t max)
{
    struct exchange *x = ctx;
    struct call *c = x->call;
    struct queue *w = x->h->api->queue;
    ssize_t r;

    (void)at;
    queue_lock(w);
    if ((r = (ssize_t)call_read(w, c, to, max)) > 0)
        ;
    else if (c->whole)
        r = MHD_CONTENT_READER_END_OF_STREAM;
    else if (c->gone)
        r = MHD_CONTENT_READER_END_WITH_ERROR;
    else
        park_call(x);
    queue_unlock(w);
    return r;
}

static enum MHD_Result
send_stream(struct MHD_Connection *con, struct exchange *x)
{
    struct MHD_Response *r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN,
        HEADERS / 4, next_stream_bytes, x, NULL);

    if (r == NULL)
        return MHD_NO;
    MHD_add_response_header(r, "Cache-Control", "no-cache");
    return send_response(con, x, 200, r, "text/event-stream; charset=utf-8");
}

/* Send the answer to a call, or its first part if it is streamed.  If what is
 * to be sent has not been written yet, park the call. */
static enum MHD_Result
answer_call(struct MHD_Connection *con, struct exchange *x)
{
    struct call *c = x->call;
    struct queue *w = x->h->api->queue;
    struct buf body = { 0 };
    int status, ready, gone;

    queue_lock(w);
    status = c->status;
    ready = c->whole || (c->q.stream && status == 200);
    gone = !ready && c->gone;
    if (!ready && !gone)
        park_call(x);
    if (ready && (status != 200 || !c->q.stream)) {
        body = c->out;
        c->out = (struct buf){ 0 };
    }
    queue_unlock(w);
    if (gone)
        return MHD_NO;
    if (!ready)
        return MHD_YES;
    if (body.p == NULL)
        return send_stream(con, x);
    return send_body(con, x, status, &body,
        c->is_targets && status == 200 ? "application/octet-stream"
                                       : "application/json");
}

/* --- requests --- */

/* Compare in a time that does not depend on where the texts differ. */
static int
keys_match(const char *given, const char *key)
{
    const size_t n = strlen(key), m = strlen(given);
    unsigned differ = n != m;

    for (size_t i = 0; i < m; i++)
        differ |= (unsigned char)(given[i] ^ key[i % (n + 1)]);
    return !differ;
}

static int
has_key(struct MHD_Connection *con, const char *key)
{
    const char *h =
        MHD_lookup_connection_value(con, MHD_HEADER_KIND, "Authorization");

    return h != NULL && strncasecmp(h, "Bearer ", 7) == 0 &&
        keys_match(h + 7, key);
}

struct hosts {
    const char *first;
    size_t n;
};

static enum MHD_Result
add_host(void *ctx, enum MHD_ValueKind kind, const char *name,
    const char *value)
{
    struct hosts *h = ctx;

    (void)kind;
    if (strcasecmp(name, "Host") == 0 && h->n++ == 0)
        h->first = value;
    return MHD_YES;
}

/* Check the headers Host and Origin.  Set x->why if the request is refused. */
static void
check_origin(struct MHD_Connection *con, struct exchange *x,
    const char *version)
{
    const char *own = x->h->o.host;
    const char *origin =
        MHD_lookup_connection_value(con, MHD_HEADER_KIND, "Origin");
    struct hosts host = { NULL, 0 };

    if (origin != NULL)
        x->cors = origin_listed(origin, x->h->o.origins, x->h->o.norigins);
    MHD_get_connection_values(con, MHD_HEADER_KIND, add_host, &host);
    if (host.n > 1 || (host.n == 0 && strcmp(version, "HTTP/1.0") != 0))
        refuse(&x->why, 400, NULL, NULL, "Send one header Host.");
    else if (!x->h->guarded)
        return;
    else if (host.first != NULL && !origin_takes_host(host.first, own))
        refuse(&x->why, 403, NULL, NULL,
            "The host %s is not this server's: ask for localhost, or start the "
            "server with --key-file.",
            host.first);
    else if (origin != NULL && x->cors == NULL && !origin_takes(origin, own))
        refuse(&x->why, 403, NULL, NULL,
            "Pages of the origin %s may not ask: start the server with "
            "--origin %s or --key-file.",
            origin, origin);
}

/* Check path, method and key of a request, whose body has not come yet.  Set
 * x->why if the request is refused. */
static void
check_head(struct MHD_Connection *con, struct exchange *x, const char *path,
    const char *method)
{
    const struct http_options *o = &x->h->o;
    const int post = strcmp(method, "POST") == 0;
    const int get = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;

    x->options = strcmp(method, "OPTIONS") == 0;
    if (x->path == API_NOWHERE)
        refuse(&x->why, 404, NULL, NULL, "There is nothing at %s.", path);
    else if (x->options) /* browsers send it without the key */
        return;
    else if (!(api_is_post(x->path) ? post : get))
        refuse(&x->why, 405, NULL, NULL, "%s needs %s, not %s.", path,
            api_is_post(x->path) ? "POST" : "GET", method);
    else if (o->key != NULL && !api_is_open(x->path) && !has_key(con, o->key))
        refuse(&x->why, 401, NULL, "invalid_api_key",
            "Send the server's key in the header Authorization: Bearer KEY.");
}

static void
refuse_long(struct exchange *x)
{
    refuse(&x->why, 413, NULL, NULL, "The body has more than %zu bytes.",
        x->h->o.body);
}

static void
receive_body(struct exchange *x, const char *data, size_t n)
{
    struct queue *w = x->h->api->queue;

    if (x->why.status != 0)
        return; /* the request is refused: drop its data */
    if (n > x->h->o.body - x->body.n)
        refuse_long(x);
    else if (queue_hold(w, &x->held, x->held + n) < 0)
        refuse(&x->why, 429, NULL, "no_memory",
            "The server holds too many bytes of requests: try again later.");
    else
        buf_add(&x->body, data, n);
}

/* Give a request with its whole body to the reader, and suspend the connection
 * until the reader has answered. */
static enum MHD_Result
read_request(struct MHD_Connection *con, struct exchange *x)
{
    if (queue_reading_begin(x->h->api->queue, &x->why) < 0)
        return send_refusal(con, x);
    x->reading = (struct reading){ .path = x->path,
        .body = x->body.p != NULL ? x->body.p : "",
        .n = x->body.n,
        .arrived = clock_now(),
        .con = x };
    x->reads = 1;
    atomic_fetch_add(&x->h->unsent, 1);
    MHD_suspend_connection(con);
    reader_put(x->h->reader, &x->reading);
    return MHD_YES;
}

static void
wake_reading(struct reading *g)
{
    struct exchange *x = g->con;
    struct http *h = x->h;

    MHD_resume_connection(x->con);
    ring_bell(h);
}

static enum MHD_Result
answer_request(struct MHD_Connection *con, struct exchange *x, const char *path)
{
    struct api_answer a;

    if (x->why.status != 0)
        return send_refusal(con, x);
    if (x->options)
        return send_options(con, x);
    if (!x->reads && api_is_post(x->path))
        return read_request(con, x);
    if (x->reads)
        a = reader_answer(x->h->reader, &x->reading);
    else
        api_answer(x->h->api, x->path, path, "", 0, clock_now(), &a);
    x->reads = 0;
    buf_release(&x->body);
    queue_hold(x->h->api->queue, &x->held, 0);
    if (a.call != NULL) {
        x->call = a.call;
        a.call->con = x;
        a.call->fd =
            MHD_get_connection_info(con, MHD_CONNECTION_INFO_CONNECTION_FD)
                ->connect_fd;
        return answer_call(con, x);
    }
    x->why = a.why;
    if (a.why.status == 0)
        return send_body(con, x, 200, &a.out, a.type);
    buf_release(&a.out);
    return send_refusal(con, x);
}

static enum MHD_Result
on_request(void *ctx, struct MHD_Connection *con, const char *path,
    const char *method, const char *version, const char *data, size_t *n,
    void **con_cls)
{
    struct exchange *x = *con_cls;
    const char *length;

    if (x == NULL) {
        *con_cls = x = xcalloc(1, sizeof *x);
        x->h = ctx;
        x->con = con;
        x->path = api_find(path);
        check_origin(con, x, version);
        if (x->why.status == 0)
            check_head(con, x, path, method);
        length =
            MHD_lookup_connection_value(con, MHD_HEADER_KIND, "Content-Length");
        if (length == NULL || strtoull(length, NULL, 10) <= x->h->o.body)
            return MHD_YES;
        /* libmicrohttpd closes a connection answered before the body came */
        refuse_long(x);
        return send_refusal(con, x);
    }
    if (*n > 0) {
        receive_body(x, data, *n);
        *n = 0;
        return MHD_YES;
    }
    return x->call != NULL ? answer_call(con, x) : answer_request(con, x, path);
}

static void
on_completed(void *ctx, struct MHD_Connection *con, void **con_cls,
    enum MHD_RequestTerminationCode code)
{
    struct http *h = ctx;
    struct exchange *x = *con_cls;
    struct queue *w = h->api->queue;
    const int sent = code == MHD_REQUEST_TERMINATED_COMPLETED_OK;

    (void)con;
    if (x == NULL)
        return;
    metrics_answered(h->api->metrics, sent ? x->status : 0);
    if (x->reads) { /* the client left before the answer was taken */
        struct api_answer a = reader_answer(h->reader, &x->reading);

        x->call = a.call;
        buf_release(&a.out);
    }
    if (x->call != NULL) {
        if (!sent)
            call_leave(w, x->call);
        call_release(w, x->call);
    }
    if (x->reading.con != NULL)
        atomic_fetch_sub(&h->unsent, 1);
    queue_hold(w, &x->held, 0);
    buf_release(&x->body);
    free(x);
    *con_cls = NULL;
}

/* --- the server --- */

static void
log_error(void *ctx, const char *fmt, va_list ap)
{
    char text[500];

    (void)ctx;
    vsnprintf(text, sizeof text, fmt, ap);
    text[strcspn(text, "\n")] = '\0';
    vnote("http: %s", text);
}

/*
 * Run the HTTP thread.  libmicrohttpd's own loop is not used: version 0.9.75
 * asks for 128 events at a time, and if it gets 128, it waits for more before
 * it handles them.  MHD_run does not wait.
 */
static void *
run_daemon(void *ctx)
{
    struct http *h = ctx;
    struct pollfd p[2] = { { .fd = MHD_get_daemon_info(h->daemon,
                                 MHD_DAEMON_INFO_EPOLL_FD)
                                       ->epoll_fd,
                               .events = POLLIN },
        { .fd = h->bell, .events = POLLIN } };
    uint64_t rung;
    int listener = -1;

    while (!atomic_load(&h->stopping)) {
        MHD_UNSIGNED_LONG_LONG ms;

        if (MHD_get_timeout(h->daemon, &ms) != MHD_YES || ms > WAIT_MS)
            ms = WAIT_MS;
        if (poll(p, 2, (int)ms) > 0 && p[1].revents != 0 &&
            read(h->bell, &rung, sizeof rung) < 0)
            vnote("http: the bell cannot be read");
        MHD_run(h->daemon);
        if (listener < 0 && atomic_load(&h->closing))
            listener = MHD_quiesce_daemon(h->daemon);
    }
    MHD_stop_daemon(h->daemon);
    if (listener >= 0)
        close(listener);
    return NULL;
}

/* Open a socket that listens at an address; -1 and errno. */
static int
listen_at(const struct addrinfo *a, size_t backlog)
{
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC,
                  a->ai_protocol),
              on = 1;

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 &&
        listen(fd, (int)backlog) == 0)
        return fd;
    close(fd);
    return -1;
}

static int
open_listener(const struct http_options *o, struct err *e)
{
    const struct addrinfo want = { .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_PASSIVE };
    struct addrinfo *all;
    const int r = getaddrinfo(o->host, o->port, &want, &all);
    int fd;

    if (r != 0)
        return err_set(e, EX_USAGE, "--host %s: %s", o->host, gai_strerror(r));
    if ((fd = listen_at(all, o->connections)) < 0)
        err_set(e, EX_SYS, "cannot listen at %s port %s:", o->host, o->port);
    freeaddrinfo(all);
    return fd;
}

/* Set h->url and h->guarded by the address of the listening socket. */
static void
read_address(struct http *h, int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char host[200] = "?", port[20] = "?";

    if (getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
        h->guarded = h->o.key == NULL &&
            origin_is_loopback((const struct sockaddr *)&at);
        getnameinfo((struct sockaddr *)&at, n, host, sizeof host, port,
            sizeof port, NI_NUMERICHOST | NI_NUMERICSERV);
    }
    snprintf(h->url, sizeof h->url,
        strchr(host, ':') != NULL ? "http://[%s]:%s" : "http://%s:%s", host,
        port);
}

struct http *
http_start(const struct http_options *o, struct api *api, struct err *e)
{
    struct http *h = xcalloc(1, sizeof *h);
    const int fd = open_listener(o, e);

    if (fd < 0) {
        free(h);
        return NULL;
    }
    h->o = *o;
    h->api = api;
    read_address(h, fd);
    h->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME |
            MHD_USE_ITC | MHD_USE_ERROR_LOG,
        0, NULL, NULL, on_request, h, MHD_OPTION_EXTERNAL_LOGGER, log_error,
        NULL, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, h, MHD_OPTION_CONNECTION_LIMIT, (unsigned)o->connections,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)o->idle,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HEADERS, MHD_OPTION_END);
    h->bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (h->daemon != NULL && h->bell >= 0 &&
        (h->reader = reader_new(api, wake_reading, e)) != NULL &&
        thread_start(&h->thread, run_daemon, h) == 0)
        return h;
    err_set(e, EX_SYS, "libmicrohttpd cannot start:");
    if (h->reader != NULL) {
        reader_stop(h->reader);
        reader_free(h->reader);
    }
    if (h->daemon != NULL)
        MHD_stop_daemon(h->daemon);
    else
        close(fd);
    if (h->bell >= 0)
        close(h->bell);
    free(h);
    return NULL;
}

const char *
http_url(const struct http *h)
{
    return h->url;
}

size_t
http_unsent(struct http *h)
{
    return atomic_load(&h->unsent);
}

void
http_stop_accepting(struct http *h)
{
    atomic_store(&h->closing, 1);
    ring_bell(h);
}

void
http_stop(struct http *h)
{
    if (h == NULL)
        return;
    reader_stop(h->reader);
    atomic_store(&h->stopping, 1);
    ring_bell(h);
    pthread_join(h->thread, NULL);
    reader_free(h->reader);
    close(h->bell);
    free(h);
}
