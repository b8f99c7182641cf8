/* Statistics of measurements; see bench_stat.h. */
#include "bench_stat.h"
#include "base/median.h"
#include "base/mem.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>

enum { SAMPLES = 2000 };

size_t
bench_turns(const struct bench_run *r)
{
    return (r->n + r->per_turn - 1) / r->per_turn;
}

/* ---- values of many requests ---- */

struct bench_summary
bench_summary_of(double *x, size_t n)
{
    struct bench_summary s = { NAN, NAN, NAN, NAN };
    double sum = 0.0, square = 0.0;

    if (n == 0)
        return s;
    for (size_t i = 0; i < n; i++)
        sum += x[i];
    s.mean = sum / (double)n;
    for (size_t i = 0; i < n; i++)
        square += (x[i] - s.mean) * (x[i] - s.mean);
    s.std = sqrt(square / (double)n);
    sort_doubles(x, n);
    s.median = quantile(x, n, 0.5);
    s.p99 = quantile(x, n, 0.99);
    return s;
}

/* ---- one request ---- */

/* Sum of a request's values of measure m, a time, in seconds.  *n: their
 * number, perhaps 0. */
static double
request_time(const struct bench_times *t, enum bench_measure m, size_t *n)
{
    const double first = t->tokens > 0 ? t->at[0] : 0.0;
    const double last = t->tokens > 0 ? t->at[t->arrivals - 1] : 0.0;

    *n = t->tokens > 0;
    switch (m) {
    case BENCH_TTFT: return first - t->start;
    case BENCH_TPOT:
        *n = t->tokens > 1;
        return (last - first) / ((double)t->tokens - 1.0);
    case BENCH_ITL:
        *n = t->tokens > 0 ? t->arrivals - 1 : 0;
        return last - first;
    default: return last - t->start;
    }
}

/* Statistics of all requests' values of measure m, a time, in ms. */
static struct bench_summary
time_summary(const struct bench_run *r, enum bench_measure m)
{
    struct bench_summary s;
    size_t n = 0, at = 0, k;
    double *x;

    for (size_t i = 0; i < r->n; i++)
        n += 1 + r->request[i].arrivals;
    x = xreallocarray(NULL, n, sizeof *x);
    for (size_t i = 0; i < r->n; i++) {
        const struct bench_times *t = &r->request[i];
        const double v = 1e3 * request_time(t, m, &k);

        if (m != BENCH_ITL && k > 0)
            x[at++] = v;
        for (size_t j = 0; m == BENCH_ITL && j < k; j++)
            x[at++] = 1e3 * (t->at[j + 1] - t->at[j]);
    }
    s = bench_summary_of(x, at);
    free(x);
    return s;
}

void
bench_result_of(const struct bench_run *r, struct bench_result *out)
{
    *out = (struct bench_result){ 0 };
    for (size_t i = 0; i < r->n; i++) {
        const size_t tokens = r->request[i].tokens;

        out->completed += tokens > 0;
        out->failed += tokens == 0;
        out->in += tokens > 0 ? r->prompt[i] : 0;
        out->out += tokens;
    }
    for (size_t i = 0; i < bench_turns(r); i++)
        out->duration += r->wall[i];
    out->requests = (double)out->completed / out->duration;
    out->tokens = (double)out->out / out->duration;
    out->total = (double)(out->in + out->out) / out->duration;
    for (int m = 0; m < BENCH_TIMES; m++)
        out->ms[m] = time_summary(r, m);
}

/* ---- two runs ---- */

/* Sums over the requests of a turn.  The mean or rate of several turns is the
 * total of their `sum` divided by the total of their `of`. */
struct share {
    double sum, of;
};

/* Set *x and *y to the sums of measure m over turn k of a and of b.  Returns
 * the number of requests that both answered. */
static size_t
turn_shares(const struct bench_run *a, const struct bench_run *b,
    enum bench_measure m, size_t k, struct share *x, struct share *y)
{
    const size_t from = k * a->per_turn;
    size_t both = 0;

    *x = *y = (struct share){ 0.0, 0.0 };
    for (size_t i = from; i < from + a->per_turn && i < a->n; i++) {
        const struct bench_times *t = &a->request[i], *u = &b->request[i];
        size_t n, l;
        const double v = request_time(t, m, &n), w = request_time(u, m, &l);

        both += t->tokens > 0 && u->tokens > 0;
        if (m == BENCH_REQUESTS || m == BENCH_TOKENS) {
            x->sum += m == BENCH_TOKENS ? (double)t->tokens : t->tokens > 0;
            y->sum += m == BENCH_TOKENS ? (double)u->tokens : u->tokens > 0;
        } else if (n > 0 && l > 0) {
            x->sum += 1e3 * v;
            y->sum += 1e3 * w;
            x->of += (double)n;
            y->of += (double)l;
        }
    }
    if (m == BENCH_REQUESTS || m == BENCH_TOKENS) {
        x->of = a->wall[k];
        y->of = b->wall[k];
    }
    return both;
}

static void
compare_sums(const struct share *x, const struct share *y, enum bench_measure m,
    double *difference, double *ratio)
{
    const double a = x->sum / x->of, b = y->sum / y->of;

    *difference = b - a;
    *ratio = m < BENCH_TIMES ? a / b : b / a;
}

/* Fill the intervals from the turns' sums x and y, [n] each. */
static void
bootstrap(struct bench_pair *p, const struct share *x, const struct share *y,
    size_t n, enum bench_measure m, uint64_t seed)
{
    double *d = xreallocarray(NULL, SAMPLES, 2 * sizeof *d), *r = d + SAMPLES;

    for (size_t s = 0; s < SAMPLES; s++) {
        const uint64_t key = rng_key(seed, s);
        struct share a = { 0.0, 0.0 }, b = a;

        for (size_t i = 0; i < n; i++) {
            const size_t k = (size_t)(rng_unit(key, i) * (double)n);

            a.sum += x[k].sum;
            a.of += x[k].of;
            b.sum += y[k].sum;
            b.of += y[k].of;
        }
        compare_sums(&a, &b, m, &d[s], &r[s]);
    }
    sort_doubles(d, SAMPLES);
    sort_doubles(r, SAMPLES);
    p->difference.low = quantile(d, SAMPLES, 0.025);
    p->difference.high = quantile(d, SAMPLES, 0.975);
    p->ratio.low = quantile(r, SAMPLES, 0.025);
    p->ratio.high = quantile(r, SAMPLES, 0.975);
    free(d);
}

struct bench_pair
bench_compare(const struct bench_run *a, const struct bench_run *b,
    enum bench_measure m, uint64_t seed)
{
    const size_t turns = bench_turns(a);
    struct share *x = xcalloc(2 * turns, sizeof *x), *y = x + turns;
    struct share all = { 0.0, 0.0 }, other = all;
    struct bench_pair p = { 0, { NAN, NAN, NAN }, { NAN, NAN, NAN } };
    size_t n = 0;

    for (size_t k = 0; k < turns; k++) {
        p.n += turn_shares(a, b, m, k, &x[n], &y[n]);
        all.sum += x[n].sum;
        all.of += x[n].of;
        other.sum += y[n].sum;
        other.of += y[n].of;
        n += x[n].of > 0.0 && y[n].of > 0.0;
    }
    compare_sums(&all, &other, m, &p.difference.v, &p.ratio.v);
    if (n > 1)
        bootstrap(&p, x, y, n, m, seed);
    free(x);
    return p;
}
