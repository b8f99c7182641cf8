/* The loss of load balance; see balance.h. */
#include "model/pass/balance.h"

#include <string.h>

void
balance_lay(struct balance *x, const struct router *how, size_t B,
    struct arena *a)
{
    x->how = *how;
    x->count = arena_alloc(a, B * how->n, sizeof *x->count);
    x->mass = arena_alloc(a, B * how->n, sizeof *x->mass);
    x->n = arena_alloc(a, B, sizeof *x->n);
    x->dp = arena_alloc(a, B * how->n, sizeof *x->dp);
}

void
balance_begin(struct balance *x, size_t B)
{
    memset(x->count, 0, B * x->how.n * sizeof *x->count);
    memset(x->mass, 0, B * x->how.n * sizeof *x->mass);
    memset(x->n, 0, B * sizeof *x->n);
}

struct balance_job {
    struct balance *x;
    const struct rows *r;
    size_t Tp;
    const float *z, *shift;
};

static void
count_row(void *ctx, size_t b, size_t worker)
{
    const struct balance_job *j = ctx;
    const struct router *how = &j->x->how;
    const size_t E = how->n;
    double p[ROUTER_EXPERTS], sum;
    uint32_t id[ROUTER_USED];
    float w[ROUTER_USED];

    (void)worker;
    for (size_t t = 0; t < j->r->T; t++) {
        const float *z = j->z + (b * j->Tp + t) * E;

        if (j->r->first[b * j->r->T + t] == UINT32_MAX)
            continue;
        router_choose(how, z, j->shift, id, w);
        sum = router_scores(how, z, p);
        for (size_t s = 0; s < how->k; s++)
            j->x->count[b * E + id[s]]++;
        for (size_t e = 0; e < E; e++)
            j->x->mass[b * E + e] += p[e] / sum;
        j->x->n[b]++;
    }
}

void
balance_add(struct balance *x, const struct rows *r, size_t Tp, const float *z,
    const float *shift, struct pool *pool)
{
    struct balance_job j = { x, r, Tp, z, shift };

    pool_run(pool, r->B, count_row, &j);
}

double
balance_loss(struct balance *x, size_t b, double weight)
{
    const size_t E = x->how.n;
    const double n = x->n[b] > 0 ? x->n[b] : 1;
    double sum = 0;

    for (size_t e = b * E; e < (b + 1) * E; e++) {
        const double f = x->count[e] / n;

        sum += f * x->mass[e] / n;
        x->dp[e] = weight * (double)E * f / n;
    }
    return (double)E * sum;
}
