/* The choice of a token's experts; see route.h. */
#include "model/pass/route.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* The number of the largest of n keys that is not marked in `out`.  The first
 * of equal ones, and of NaN. */
static size_t
best_left(const double *key, const unsigned char *out, size_t n)
{
    size_t best = n;

    for (size_t i = 0; i < n; i++)
        if (!out[i] && (best == n || key[i] > key[best]))
            best = i;
    return best;
}

/* out [n] = softmax of z */
static void
softmax_double(const float *z, size_t n, double *out)
{
    double max = -INFINITY, sum = 0;

    for (size_t i = 0; i < n; i++)
        max = z[i] > max ? z[i] : max;
    for (size_t i = 0; i < n; i++)
        sum += out[i] = exp(z[i] - max);
    for (size_t i = 0; i < n; i++)
        out[i] /= sum;
}

double
router_scores(const struct router *r, const float *z, double *p)
{
    double sum = 0;

    if (r->score != ROUTER_SIGMOID) {
        softmax_double(z, r->n, p);
        return 1;
    }
    for (size_t i = 0; i < r->n; i++)
        sum += p[i] = 1 / (1 + exp(-(double)z[i]));
    return sum;
}

/* The score of a group of n experts. */
static double
group_key(enum router_group how, const double *key, size_t n)
{
    unsigned char out[ROUTER_EXPERTS] = { 0 };
    const size_t first = best_left(key, out, n);

    if (how == ROUTER_MAX || n < 2)
        return key[first];
    out[first] = 1;
    return key[first] + key[best_left(key, out, n)];
}

/* Mark in `out` the experts of groups that are not among the best. */
static void
drop_groups(const struct router *r, const double *key, unsigned char *out)
{
    const size_t each = r->n / r->groups;
    unsigned char kept[ROUTER_EXPERTS] = { 0 };
    double sum[ROUTER_EXPERTS];

    for (size_t g = 0; g < r->groups; g++)
        sum[g] = group_key(r->group, key + g * each, each);
    for (size_t i = 0; i < r->keep; i++)
        kept[best_left(sum, kept, r->groups)] = 1;
    for (size_t g = 0; g < r->groups; g++)
        if (!kept[g])
            memset(out + g * each, 1, each);
}

/* at [k] = the scores from which the chosen experts' weights are computed.
 * Returns the number by which the weights are divided. */
static double
chosen_scores(const struct router *r, const float *z, const double *p,
    const uint32_t *id, double *at)
{
    float some[ROUTER_USED] = { 0 };
    double sum = 0;

    if (r->score == ROUTER_CHOSEN) {
        for (size_t i = 0; i < r->k; i++)
            some[i] = z[id[i]];
        softmax_double(some, r->k, at);
    }
    for (size_t i = 0; i < r->k; i++) {
        if (r->score != ROUTER_CHOSEN)
            at[i] = p[id[i]];
        sum += at[i];
    }
    /* DeepSeek-V3 adds 1e-20, which only keeps 0 from being divided by 0 */
    return r->renorm ? sum + 1e-20 : 1;
}

void
router_choose(const struct router *r, const float *z, const float *bias,
    uint32_t *id, float *w)
{
    double p[ROUTER_EXPERTS], key[ROUTER_EXPERTS], at[ROUTER_USED], sum;
    unsigned char out[ROUTER_EXPERTS] = { 0 };

    assert(r->n <= ROUTER_EXPERTS && r->k <= ROUTER_USED && r->k <= r->n);
    router_scores(r, z, p);
    for (size_t i = 0; i < r->n; i++)
        key[i] = (r->score == ROUTER_CHOSEN ? z[i] : p[i]) +
            (bias != NULL ? bias[i] : 0.0);
    if (r->groups > 1)
        drop_groups(r, key, out);
    for (size_t i = 0; i < r->k; i++) {
        id[i] = (uint32_t)best_left(key, out, r->n);
        assert(id[i] < r->n);
        out[id[i]] = 1;
    }
    sum = chosen_scores(r, z, p, id, at);
    for (size_t i = 0; i < r->k; i++)
        w[i] = (float)(r->scale * at[i] / sum);
}

/* From dw, the gradient of the weights of the chosen experts, set g [k] to the
 * gradient of their scores `at`. */
static void
weights_backward(const struct router *r, const double *at, double sum,
    const float *dw, double *g)
{
    double mean = 0;

    for (size_t i = 0; i < r->k; i++)
        mean += r->renorm ? dw[i] * at[i] / sum : 0;
    for (size_t i = 0; i < r->k; i++)
        g[i] = r->scale * (dw[i] - mean) / sum;
}

/* dp: the gradient with respect to p / sum, the scores divided by their sum.
 * Set g [n] to the gradient with respect to p; dp NULL: to zeros. */
static void
shares_backward(const struct router *r, const double *p, double sum,
    const double *dp, double *g)
{
    const int shares = dp != NULL && r->score == ROUTER_SIGMOID;
    double mean = 0;

    for (size_t i = 0; shares && i < r->n; i++)
        mean += dp[i] * p[i] / sum;
    for (size_t i = 0; i < r->n; i++)
        g[i] = dp != NULL ? (dp[i] - mean) / sum : 0;
}

void
router_backward(const struct router *r, const float *z, const uint32_t *id,
    const float *dw, const double *dp, float *dz)
{
    double p[ROUTER_EXPERTS], g[ROUTER_EXPERTS], at[ROUTER_USED];
    double gk[ROUTER_USED], mean = 0, mean_k = 0;
    const int chosen = r->score == ROUTER_CHOSEN;

    shares_backward(r, p, router_scores(r, z, p), dp, g);
    weights_backward(r, at, chosen_scores(r, z, p, id, at), dw, gk);
    for (size_t i = 0; i < r->k; i++) {
        mean_k += gk[i] * at[i];
        g[id[i]] += chosen ? 0 : gk[i];
    }
    for (size_t i = 0; i < r->n; i++)
        mean += g[i] * p[i];
    for (size_t i = 0; i < r->n; i++)
        dz[i] = (float)(r->score == ROUTER_SIGMOID ? g[i] * p[i] * (1 - p[i])
                                                   : (g[i] - mean) * p[i]);
    for (size_t i = 0; chosen && i < r->k; i++)
        dz[id[i]] += (float)((gk[i] - mean_k) * at[i]);
}
