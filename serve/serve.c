/* serve - answer requests for texts over HTTP; see serve(1) */
#include "http.h"
#include "start.h"
#include "work.h"
#include "base/clock.h"
#include "base/note.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/shared.h"
#include "model/pass/compute.h"

#include <stdio.h>
#include <time.h>

/* Wait until the HTTP thread has sent all answers, at most `seconds`. */
static void
send_rest(struct http *h, double seconds)
{
    const double until = clock_now() + seconds;
    const struct timespec nap = { 0, 5000000 };

    while (http_unsent(h) > 0 && clock_now() < until)
        nanosleep(&nap, NULL);
}

/* Serve until a signal stops it.  Returns the number of unanswered requests. */
static size_t
serve_all(struct server *s, const struct serve_args *a)
{
    char port[20];
    const struct http_options o = { a->host, port, s->key, a->body,
        a->connections, a->idle, a->origins.v, a->origins.n };
    struct work w = { .engine = s->engine,
        .exact = s->exact,
        .queue = s->api.queue,
        .metrics = s->api.metrics,
        .tok = s->tok,
        .targets = s->targets,
        .vocab = s->m.c.V,
        .at_once = a->at_once,
        .longest = a->timeout };
    struct err e;
    size_t lost;

    snprintf(port, sizeof port, "%zu", a->port);
    if ((w.http = http_start(&o, &s->api, &e)) == NULL)
        die_err(&e);
    prog_catch_stop();
    note("listening at %s, model %s", http_url(w.http), s->api.bounds.model);
    lost = work_run(&w);
    send_rest(w.http, lost > 0 ? 1.0 : a->idle);
    http_stop(w.http);
    return lost;
}

int
main(int argc, char **argv)
{
    static struct serve_args a = { .host = "127.0.0.1",
        .port = 8000,
        .at_once = 16,
        .queue = 256,
        .texts = 128,
        .cache = (size_t)1 << 30,
        .slice = GEN_SLICE,
        .buffers = (size_t)256 << 20,
        .body = (size_t)1 << 20,
        .connections = 1024,
        .idle = 60,
        .timeout = 3600 };
    const struct opt options[] = {
        OPT_MODEL(&a.model, "write texts with this model"),
        OPT_ADAPTER(&a.adapter),
        OPT_TOKENIZER(&a.tokenizer, OPT_TOKENIZER_MODEL),
        OPT_TEMPLATE(&a.template),
        OPT_STR(0, "name", &a.name, "name",
            "name of the model in requests (default: the last part of its "
            "path)"),
        OPT_GROUP("connections"),
        OPT_STR(0, "host", &a.host, "address", "address to listen at"),
        OPT_SIZE(0, "port", &a.port, 0, 65535, "port",
            "port to listen at (0: any that is free)"),
        OPT_STR(0, "key-file", &a.key_file, "file",
            "file whose first line is the key that clients must send"),
        OPT_LIST(0, "origin", &a.origins, "URL",
            "let web pages of this origin ask; may be repeated"),
        OPT_SIZE(0, "connections", &a.connections, 1, 1e6, "n",
            "keep at most this many connections open"),
        OPT_TIME(0, "idle", &a.idle, 1, 1e6, "time",
            "close a connection that is silent for this time"),
        OPT_SIZE(0, "max-body", &a.body, 1024, 1e9, "bytes",
            "refuse a request with a longer body"),
        OPT_SIZE(0, "buffers", &a.buffers, 1 << 16, 0x1p50, "bytes",
            "hold at most this many bytes of requests and answers"),
        OPT_GROUP("texts"), OPT_AT_ONCE(&a.at_once),
        OPT_SIZE(0, "queue", &a.queue, 0, 1e6, "texts",
            "number of texts that may wait; more are refused"),
        OPT_SIZE(0, "max-texts", &a.texts, 1, 1e4, "texts",
            "refuse a request for more texts than this"),
        OPT_TIME(0, "timeout", &a.timeout, 0.01, 1e9, "time",
            "give up a request that takes longer than this"),
        OPT_SIZE(0, "longest", &a.longest, 0, 1e9, "tokens",
            "allow at most this many tokens of a prompt and its text (0: the "
            "model's positions, or fewer if --cache is too small)"),
        OPT_SIZE(0, "cache", &a.cache, 1, 1e15, "bytes",
            "memory for keys and values"),
        OPT_SLICE(&a.slice),
        OPT_SIZE(0, "targets", &a.targets, 0, 1e9, "tokens",
            "answer /v1/targets, for rows of at most this many tokens (0: "
            "refuse it)"),
        OPT_SEED(&a.seed), OPT_GROUP("processors"), OPT_SETUP(a.setup), OPT_END
    };
    static struct server s;
    size_t lost;

    opt_parse(argc, argv, options, "answer requests for texts over HTTP", "", 0,
        0, NULL);
    server_open(&s, &a);
    lost = serve_all(&s, &a);
    server_close(&s);
    if (lost > 0)
        die(EX_STOP, "%zu requests were not answered", lost);
    return 0;
}
