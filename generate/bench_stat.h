/*
 * Statistics of generate bench, with the definitions of `vllm bench serve`
 * (vllm/benchmarks/serve.py, calculate_metrics).
 *
 * Requests are measured in turns.  Times of two runs of the same requests are
 * compared over the requests that both answered, rates over all requests.
 */
#ifndef GENERATE_BENCH_STAT_H
#define GENERATE_BENCH_STAT_H

#include <stddef.h>
#include <stdint.h>

/* When a request was sent and when its tokens came, in seconds of any clock. */
struct bench_times {
    double start;
    size_t tokens;   /* new tokens; 0: the request failed */
    size_t arrivals; /* times that tokens came; several may come at once */
    double *at;      /* [arrivals] */
};
/* Arrivals that `at` must have room for beyond the tokens asked for: a server
 * may report the end of a text in an event of its own. */
enum { BENCH_MORE = 2 };

/* Every request, as one model or server answered it. */
struct bench_run {
    size_t n;                    /* number of requests */
    size_t per_turn;             /* number of requests of a turn */
    const size_t *prompt;        /* [n] tokens of each prompt */
    struct bench_times *request; /* [n] */
    double *wall;                /* [bench_turns] seconds of each turn */
};
/* The number of turns; the last one may have fewer requests. */
size_t bench_turns(const struct bench_run *r);

/* Times: to the first token; of each later token; between two arrivals; to the
 * last token.  The rates are of requests and of new tokens. */
enum bench_measure {
    BENCH_TTFT,
    BENCH_TPOT,
    BENCH_ITL,
    BENCH_E2EL,
    BENCH_TIMES,
    BENCH_REQUESTS = BENCH_TIMES,
    BENCH_TOKENS,
    BENCH_MEASURES
};

/* Statistics of n values; std divides by n, not n - 1.  n = 0: all are NAN. */
struct bench_summary {
    double mean, median, std, p99;
};
/* The statistics of x [n], which is sorted in place. */
struct bench_summary bench_summary_of(double *x, size_t n);

struct bench_result {
    size_t completed, failed; /* requests */
    size_t in, out;           /* of completed requests: tokens of prompts, and
                               * new tokens */
    double duration;          /* seconds */
    double requests, tokens, total; /* per second; total: in + out */
    struct bench_summary ms[BENCH_TIMES];
};
void bench_result_of(const struct bench_run *r, struct bench_result *out);

/* How b differs from a in a measure.  n: requests that both answered.
 * difference: b's mean minus a's, ms or 1/s.  ratio: how many times as fast b
 * is: a's mean over b's for a time, b's over a's for a rate.  low, high: 95 %
 * intervals from 2000 bootstrap samples of turns (Efron's percentile interval);
 * a sampled turn gives the values of both a and b.  low and high are NAN if
 * there is only one turn. */
struct bench_interval {
    double v, low, high;
};
struct bench_pair {
    size_t n;
    struct bench_interval difference, ratio;
};
struct bench_pair bench_compare(const struct bench_run *a,
    const struct bench_run *b, enum bench_measure m, uint64_t seed);

#endif
