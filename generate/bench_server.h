/*
 * A server of generate bench, asked as `vllm bench serve` asks: streamed
 * completions of prompts of ids, past EOS, over HTTP without TLS.
 */
#ifndef GENERATE_BENCH_SERVER_H
#define GENERATE_BENCH_SERVER_H

#include "bench_plan.h"
#include "bench_stat.h"
#include "base/err.h"
#include "msg/http.h"

#include <stddef.h>

struct bench_server {
    const char *url;
    struct http_server http;
    char *model;   /* name of the server's first model */
    size_t V;      /* ids of the model; 0: the server does not say */
    char why[200]; /* why the first failed request failed, or "" */
};

/* Ask the server at url for its models; *s keeps url.  -1 and *e. */
int bench_server_open(struct bench_server *s, const char *url, struct err *e);
/* As bench_process_turn.  A request that fails has 0 tokens. */
double bench_server_turn(struct bench_server *s, const struct bench_plan *p,
    size_t k, size_t from, size_t n, struct bench_times *times);
void bench_server_close(struct bench_server *s);

#endif
