/* A server of generate bench; see bench_server.h. */
#include "bench_server.h"
#include "base/clock.h"
#include "base/mem.h"
#include "format/json.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A request that is sent or answered. */
struct exchange {
    int fd; /* -1: none */
    struct bench_times *t;
    size_t most; /* new tokens asked for */
    struct http_answer a;
    size_t read;   /* bytes of a.body that were looked at */
    size_t tokens; /* as counted by the server; 0: it has not told yet */
    int done;      /* the stream's last event has come */
};

/* ---- what the server has ---- */

static int
read_models(struct bench_server *s, const struct http_answer *a, struct err *e)
{
    json_t *j = json_loadb(a->body.n > 0 ? a->body.p : "", a->body.n, 0, NULL);
    const json_t *first = json_array_get(json_object_get(j, "data"), 0);
    const char *id = json_string_value(json_object_get(first, "id"));
    /* llama-server gives n_vocab */
    const json_t *V =
        json_object_get(json_object_get(first, "meta"), "n_vocab");

    if (id != NULL)
        s->model = xstrdup(id);
    if (json_integer_value(V) > 0)
        s->V = (size_t)json_integer_value(V);
    json_decref(j);
    if (id == NULL)
        return err_set(e, EX_INPUT,
            "/v1/models names no model (status %d): is it a server of "
            "OpenAI's API?",
            a->status);
    return 0;
}

int
bench_server_open(struct bench_server *s, const char *url, struct err *e)
{
    const struct buf none = { 0 };
    struct http_answer a = { .most = 1 << 20 };
    int r;

    *s = (struct bench_server){ .url = url };
    if (http_open(&s->http, "--url", url, e) < 0)
        return -1;
    r = http_ask(&s->http, "GET", "/v1/models", &none, &a, e);
    if (r == 0)
        r = read_models(s, &a, e);
    http_answer_release(&a);
    return r < 0 ? err_prefix(e, "%s", url) : 0;
}

void
bench_server_close(struct bench_server *s)
{
    http_close(&s->http);
    free(s->model);
}

/* ---- streams ---- */

static void
fail_exchange(struct bench_server *s, struct exchange *x, const char *why)
{
    if (s->why[0] == '\0')
        snprintf(s->why, sizeof s->why, "%.*s", (int)sizeof s->why - 1, why);
    x->t->arrivals = 0;
    x->done = 1;
}

/* Look at an event that came `now`: the JSON after "data: ". */
static void
read_event(struct bench_server *s, struct exchange *x, const char *text,
    size_t n, double now)
{
    json_t *j, *usage;

    if (n >= 6 && memcmp(text, "[DONE]", 6) == 0) {
        x->done = 1;
        x->t->tokens = x->tokens > 0 ? x->tokens : x->t->arrivals;
        return;
    }
    j = json_loadb(text, n, JSON_ALLOW_NUL, NULL);
    usage = json_object_get(json_object_get(j, "usage"), "completion_tokens");
    if (j == NULL || json_object_get(j, "error") != NULL)
        fail_exchange(s, x, j == NULL ? "an event is not JSON" : text);
    else if (json_array_size(json_object_get(j, "choices")) > 0 &&
        x->t->arrivals < x->most + BENCH_MORE)
        x->t->at[x->t->arrivals++] = now;
    if (json_integer_value(usage) > 0)
        x->tokens = (size_t)json_integer_value(usage);
    json_decref(j);
}

/* Look at the events that are complete. */
static void
read_events(struct bench_server *s, struct exchange *x, double now)
{
    struct buf *b = &x->a.body;
    char *end;

    if (x->a.status != 200) {
        if (x->a.whole)
            fail_exchange(s, x, b->n > 0 ? b->p : "an answer without reason");
        return;
    }
    while (!x->done && b->n > x->read &&
        (end = memchr(b->p + x->read, '\n', b->n - x->read)) != NULL) {
        const char *line = b->p + x->read;

        *end = '\0';
        x->read = (size_t)(end - b->p) + 1;
        if (strncmp(line, "data:", 5) == 0) {
            line += 5 + strspn(line + 5, " ");
            read_event(s, x, line, (size_t)(end - line), now);
        }
    }
    if (!x->done && x->a.whole)
        fail_exchange(s, x, "a stream ends without [DONE]");
}

static void
put_body(const struct bench_server *s, const struct bench_plan *p, size_t k,
    size_t i, struct buf *b)
{
    const size_t n = bench_prompt_length(p, i);
    uint32_t *ids = xreallocarray(NULL, n, sizeof *ids);

    bench_prompt(p, k, i, ids);
    buf_adds(b, "{\"model\": ");
    js_quote(b, s->model);
    buf_adds(b, ", \"prompt\": [");
    for (size_t j = 0; j < n; j++)
        buf_addf(b, "%s%u", j > 0 ? "," : "", (unsigned)ids[j]);
    buf_addf(b,
        "], \"max_tokens\": %zu, \"temperature\": %.9g, \"top_p\": %.9g, "
        "\"seed\": %zu, \"ignore_eos\": true, \"stream\": true, "
        "\"stream_options\": {\"include_usage\": true}}",
        bench_new_tokens(p, i), p->params.how.temperature, p->params.how.top_p,
        i);
    free(ids);
}

static void
start_exchange(struct bench_server *s, const struct bench_plan *p, size_t k,
    size_t i, struct exchange *x, struct bench_times *t)
{
    struct buf body = { 0 };
    struct err e;

    *x = (struct exchange){ .t = t, .most = bench_new_tokens(p, i) };
    put_body(s, p, k, i, &body);
    t->arrivals = t->tokens = 0;
    t->start = clock_now();
    x->fd = http_send(&s->http, "POST", "/v1/completions", &body, &e);
    if (x->fd < 0)
        fail_exchange(s, x, e.msg);
    buf_release(&body);
}

/* Start requests in free places.  Returns the number of requests that run. */
static size_t
fill_places(struct bench_server *s, const struct bench_plan *p, size_t k,
    size_t from, size_t n, struct bench_times *times, struct exchange *x,
    size_t places, size_t *next)
{
    size_t running = 0;

    for (size_t i = 0; i < places; i++) {
        while (x[i].fd < 0 && *next < n) {
            start_exchange(s, p, k, from + *next, &x[i], &times[*next]);
            ++*next;
        }
        running += x[i].fd >= 0;
    }
    return running;
}

/* Read what has come for the requests that run. */
static void
read_answers(struct bench_server *s, struct exchange *x, struct pollfd *f,
    size_t n)
{
    double now;

    for (size_t i = 0; i < n; i++)
        f[i] = (struct pollfd){ .fd = x[i].fd, .events = POLLIN };
    if (poll(f, n, -1) < 0)
        return;
    now = clock_now();
    for (size_t i = 0; i < n; i++) {
        struct err e;

        if (x[i].fd < 0 || f[i].revents == 0)
            continue;
        if (http_receive(x[i].fd, &x[i].a, &e) < 0)
            fail_exchange(s, &x[i], e.msg);
        else
            read_events(s, &x[i], now);
        if (x[i].done) {
            close(x[i].fd);
            x[i].fd = -1;
            http_answer_release(&x[i].a);
        }
    }
}

double
bench_server_turn(struct bench_server *s, const struct bench_plan *p, size_t k,
    size_t from, size_t n, struct bench_times *times)
{
    const size_t places = p->at_once[k];
    struct exchange *x = xcalloc(places, sizeof *x);
    struct pollfd *f = xcalloc(places, sizeof *f);
    const double start = clock_now();
    size_t next = 0;

    for (size_t i = 0; i < places; i++)
        x[i].fd = -1;
    while (fill_places(s, p, k, from, n, times, x, places, &next) > 0)
        read_answers(s, x, f, places);
    free(f);
    free(x);
    return clock_now() - start;
}
