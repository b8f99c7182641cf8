/* Statistics of generate bench: those of vLLM on recorded times, and intervals
 * as wide as the error of a ratio that is known. */
#include "base/mem.h"
#include "base/rng.h"
#include "generate/bench_stat.h"
#include "../lib/tap.h"

#include <stdio.h>
#include <string.h>

#define TIMES "tests/golden/generate/bench.times.tsv"
#define WANT "tests/golden/generate/bench.want.tsv"

enum { N = 40, TURN = 8, MOST = 64 };

struct recorded {
    size_t prompt[N];
    struct bench_times request[N];
    double at[N][MOST], wall[N / TURN];
    struct bench_run run;
};

static FILE *
open_golden(const char *path)
{
    FILE *f = fopen(path, "r");

    if (!f) {
        printf("Bail out! %s cannot be read\n", path);
        exit(1);
    }
    return f;
}

static void
read_times(struct recorded r[2])
{
    FILE *f = open_golden(TIMES);
    char line[2000], *at;
    size_t run, i, turn, prompt, tokens;
    double x;
    int n;

    while (fgets(line, sizeof line, f)) {
        if (sscanf(line, "wall\t%zu\t%zu\t%lf", &run, &turn, &x) == 3)
            r[run].wall[turn] = x;
        if (sscanf(line, "request\t%zu\t%zu\t%zu\t%zu\t%zu\t%lf%n", &run, &i,
                &turn, &prompt, &tokens, &x, &n) != 6)
            continue;
        r[run].prompt[i] = prompt;
        r[run].request[i] = (struct bench_times){ x, tokens, 0, r[run].at[i] };
        for (at = line + n; sscanf(at, "%lf%n", &x, &n) == 1; at += n)
            r[run].at[i][r[run].request[i].arrivals++] = x;
    }
    fclose(f);
    for (run = 0; run < 2; run++)
        r[run].run = (struct bench_run){ N, TURN, r[run].prompt, r[run].request,
            r[run].wall };
}

static const char *const times[] = { "ttft", "tpot", "itl", "e2el" };
static const char *const compared[] = { "ttft_ms", "tpot_ms", "itl_ms",
    "e2el_ms", "request_throughput", "output_throughput" };

static double
result_named(const struct bench_result *r, const char *name)
{
    const struct {
        const char *name;
        double v;
    } all[] = { { "completed", (double)r->completed },
        { "failed", (double)r->failed },
        { "total_input_tokens", (double)r->in },
        { "total_output_tokens", (double)r->out }, { "duration", r->duration },
        { "request_throughput", r->requests },
        { "output_throughput", r->tokens },
        { "total_token_throughput", r->total } };
    char what[50], time[50];

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (strcmp(all[i].name, name) == 0)
            return all[i].v;
    sscanf(name, "%49[a-z0-9]_%49[a-z0-9]_ms", what, time);
    for (size_t i = 0; i < BENCH_TIMES; i++) {
        const struct bench_summary *s = &r->ms[i];

        if (strcmp(time, times[i]) == 0)
            return strcmp(what, "mean") == 0  ? s->mean
                : strcmp(what, "median") == 0 ? s->median
                : strcmp(what, "std") == 0    ? s->std
                : strcmp(what, "p99") == 0    ? s->p99
                                              : NAN;
    }
    return NAN;
}

static double
pair_named(const struct bench_pair *p, const char *name, const char *what)
{
    if (strcmp(name, "requests") == 0)
        return (double)p->n;
    for (size_t i = 0; i < BENCH_MEASURES; i++)
        if (strcmp(name, compared[i]) == 0)
            return strcmp(what, "ratio") == 0 ? p[i].ratio.v
                                              : p[i].difference.v;
    return NAN;
}

static void
test_golden(const struct recorded *r)
{
    FILE *f = open_golden(WANT);
    struct bench_result result[2];
    struct bench_pair pair[BENCH_MEASURES];
    char line[200], run[20], name[50], what[50];
    double want;
    size_t n = 0;

    for (int i = 0; i < 2; i++)
        bench_result_of(&r[i].run, &result[i]);
    for (int i = 0; i < BENCH_MEASURES; i++)
        pair[i] = bench_compare(&r[0].run, &r[1].run, i, 1);
    while (fgets(line, sizeof line, f)) {
        what[0] = '\0';
        if (sscanf(line, "%19[^#\t]\t%49[^ \t]%*[ ]%49[^ \t]\t%lf", run, name,
                what, &want) != 4 &&
            sscanf(line, "%19[^#\t]\t%49[^ \t]\t%lf", run, name, &want) != 3)
            continue;
        n++;
        ok(near(*run == 'p' ? pair_named(pair, name, what)
                            : result_named(&result[*run - '0'], name),
               want, 0, 1e-10),
            "%s %s of run %s is vLLM's", name, what, run);
    }
    fclose(f);
    ok(n == 61, "all %zu figures of vLLM are compared", n);
}

/* Compare two runs of n requests in turns of k, whose times to the first token
 * are a [n] and b [n] ms. */
static struct bench_pair
pair_of(double *a, double *b, size_t n, size_t k)
{
    struct bench_times *t = xcalloc(2 * n, sizeof *t);
    double *wall = xcalloc(n, sizeof *wall);
    const struct bench_run r = { n, k, NULL, t, wall };
    const struct bench_run s = { n, k, NULL, t + n, wall };
    struct bench_pair p;

    for (size_t i = 0; i < n; i++) {
        wall[i] = 1.0;
        a[i] *= 1e-3;
        b[i] *= 1e-3;
        t[i] = (struct bench_times){ 0.0, 1, 1, &a[i] };
        t[n + i] = (struct bench_times){ 0.0, 1, 1, &b[i] };
    }
    p = bench_compare(&r, &s, BENCH_TTFT, 0);
    for (size_t i = 0; i < n; i++) {
        a[i] *= 1e3;
        b[i] *= 1e3;
    }
    free(t);
    free(wall);
    return p;
}

static void
test_intervals(void)
{
    enum { M = 100 };
    double a[M], b[M], wide;
    struct bench_pair p;

    for (size_t i = 0; i < M; i++)
        a[i] = 2.0 * (b[i] = 5.0 + rng_normal(1, i));
    p = pair_of(a, b, M, 1);
    ok(p.n == M && near(p.ratio.v, 2.0, 1e-12, 0) &&
            near(p.ratio.low, 2.0, 1e-12, 0) &&
            near(p.ratio.high, 2.0, 1e-12, 0),
        "a ratio has no error if each request has it");
    for (size_t i = 0; i < M; i++)
        b[i] = a[i] + 7.0;
    p = pair_of(a, b, M, 1);
    ok(near(p.difference.low, 7.0, 1e-9, 0) &&
            near(p.difference.high, 7.0, 1e-9, 0),
        "a difference has no error if each request has it");
    for (size_t i = 0; i < M; i++) {
        a[i] = 30.0 * (1.0 + 0.1 * rng_normal(2, i));
        b[i] = 10.0 * (1.0 + 0.1 * rng_normal(3, i));
    }
    p = pair_of(a, b, M, 1);
    /* the error of the ratio: 3 * sqrt(2) * 0.1 / 10 */
    wide = (p.ratio.high - p.ratio.low) / (2 * 1.96 * 3 * 0.0141421);
    ok(wide >= 0.8 && wide <= 1.2 && p.ratio.low < 3.0 && p.ratio.high > 3.0,
        "a 95 %% interval is as wide as the errors make it");
    p = pair_of(a, b, M, 10);
    ok(p.ratio.low < p.ratio.v && p.ratio.v < p.ratio.high,
        "turns of ten requests give an interval");
    p = pair_of(a, b, M, M);
    ok(isnan(p.ratio.low) && isnan(p.difference.high) && p.ratio.v > 2.0,
        "one turn gives no interval");
}

int
main(void)
{
    static struct recorded r[2];
    struct bench_summary none = bench_summary_of(NULL, 0);

    read_times(r);
    test_golden(r);
    ok(isnan(none.mean) && isnan(none.p99), "no value has no mean");
    test_intervals();
    return done_testing();
}
