/* Sampling of the next token; see sample.h. */
#include "gen/sample.h"
#include "base/mem.h"
#include "kern/kern.h"
#include "model/pass/heap.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int
check_range(const char *name, double v, double lo, double hi, struct err *e)
{
    if (!(v >= lo && v <= hi))
        return err_set(e, EX_USAGE, "%s: %g is outside %g to %g", name, v, lo,
            hi);
    return 0;
}

int
sampling_check(const struct sampling *s, size_t V, struct err *e)
{
    if (s->temperature > 0.0 && s->temperature < 0.01)
        return err_set(e, EX_USAGE,
            "temperature: %g is too low: give 0.01 or more, or 0 for the most "
            "probable token",
            s->temperature);
    if (check_range("temperature", s->temperature, 0, 1000, e) < 0 ||
        check_range("top_p", s->top_p, 1e-6, 1, e) < 0 ||
        check_range("min_p", s->min_p, 0, 1, e) < 0 ||
        check_range("typical_p", s->typical, 1e-6, 1, e) < 0 ||
        check_range("repetition_penalty", s->repetition, 0.01, 100, e) < 0 ||
        check_range("presence_penalty", s->presence, -100, 100, e) < 0 ||
        check_range("frequency_penalty", s->frequency, -100, 100, e) < 0)
        return -1;
    for (size_t i = 0; i < s->biases; i++) {
        if (s->bias[i].id >= V)
            return err_set(e, EX_USAGE,
                "logit_bias: the model has no id %u, only those below %zu",
                s->bias[i].id, V);
        if (check_range("logit_bias", s->bias[i].add, -100, 100, e) < 0)
            return -1;
    }
    return 0;
}

void
sample_room_init(struct sample_room *r, size_t V)
{
    r->z = xreallocarray(NULL, V, sizeof *r->z);
    r->term = xreallocarray(NULL, V, sizeof *r->term);
    r->key = xreallocarray(NULL, V, sizeof *r->key);
    r->ids = xreallocarray(NULL, V, sizeof *r->ids);
    r->count = xcalloc(V, sizeof *r->count);
}

void
sample_room_release(struct sample_room *r)
{
    free(r->z);
    free(r->term);
    free(r->key);
    free(r->ids);
    free(r->count);
}

size_t
sample_room_bytes(size_t V)
{
    const struct sample_room *r = NULL;

    return V *
        (sizeof *r->z + sizeof *r->term + sizeof *r->key + sizeof *r->ids +
            sizeof *r->count);
}

/* ---- penalties and bias ---- */

enum { SEEN = 1u << 31 }; /* in a count: the prompt has the token */

/* Apply the penalties to a token, once: its count becomes 0. */
static void
penalise_token(const struct sampling *s, uint32_t id, struct sample_room *r)
{
    const uint32_t count = r->count[id] & ~SEEN;
    float *z = &r->z[id];

    if (r->count[id] == 0)
        return;
    *z = (float)(*z > 0.0f ? *z / s->repetition : *z * s->repetition);
    if (count > 0)
        *z = (float)(*z - (s->presence + s->frequency * count));
    r->count[id] = 0;
}

static void
penalise_all(const struct sampling *s, const struct sample_past *past,
    struct sample_room *r)
{
    for (size_t i = 0; i < past->nprompt; i++)
        r->count[past->prompt[i]] |= SEEN;
    for (size_t i = 0; i < past->ntext; i++)
        r->count[past->text[i]]++;
    for (size_t i = 0; i < past->nprompt; i++)
        penalise_token(s, past->prompt[i], r);
    for (size_t i = 0; i < past->ntext; i++)
        penalise_token(s, past->text[i], r);
}

void
sample_change(const struct sampling *s, const struct sample_past *past,
    const float *z, size_t V, struct sample_room *r)
{
    memcpy(r->z, z, V * sizeof *z);
    for (size_t i = 0; i < s->biases; i++)
        r->z[s->bias[i].id] += s->bias[i].add;
    if (s->repetition != 1.0 || s->presence != 0.0 || s->frequency != 0.0)
        penalise_all(s, past, r);
    for (size_t i = 0; i < past->nbanned; i++)
        r->z[past->banned[i]] = -INFINITY;
    for (size_t i = 0; past->allowed != NULL && i < V; i++)
        if ((past->allowed[i >> 6] >> (i & 63) & 1) == 0)
            r->z[i] = -INFINITY;
}

/* ---- which tokens are kept ---- */

/* Set r->ids to the tokens of the smallest of n keys, in order, until their
 * terms add up to `enough` or the next term is below `least`.  Returns the
 * number of tokens; *sum: the sum of their terms. */
static size_t
pop_smallest(struct sample_room *r, size_t n, double enough, double least,
    double *sum)
{
    uint64_t *h = r->key;
    size_t kept = 0;

    for (size_t i = n / 2; i-- > 0;)
        heap_sink(h, n, i);
    for (*sum = 0.0; kept < n && (kept == 0 || *sum < enough); kept++) {
        const uint32_t id = heap_number(~h[0]);

        if (kept > 0 && r->term[id] < least)
            break;
        r->ids[kept] = id;
        *sum += r->term[id];
        h[0] = h[n - kept - 1];
        heap_sink(h, n - kept - 1, 0);
    }
    return kept;
}

/* Top-k, then top-p and min-p. */
static size_t
keep_top_k(const struct sampling *s, size_t V, struct sample_room *r,
    double *sum)
{
    const size_t k = s->top_k < V ? s->top_k : V;
    double all = 0.0;
    size_t n = 0;

    for (size_t i = 0; i < V; i++)
        n = heap_keep(r->key, n, k, heap_key(r->z[i], i));
    heap_sort(r->key, n);
    for (size_t i = 0; i < n; i++)
        all += r->term[r->ids[i] = heap_number(r->key[i])];
    *sum = r->term[r->ids[0]];
    for (size_t i = 1; i < n; *sum += r->term[r->ids[i++]])
        if (r->term[r->ids[i]] < s->min_p ||
            (s->top_p < 1.0 && *sum >= s->top_p * all))
            return i;
    return n;
}

/* Typical sampling of the n tokens in r->ids, whose terms add up to *sum. */
static size_t
keep_typical(const struct sampling *s, size_t n, size_t V,
    struct sample_room *r, double *sum)
{
    const double most = kern.max(r->z, V), lse = log(*sum);
    double entropy = 0.0;

    for (size_t i = 0; i < n; i++) {
        const uint32_t id = r->ids[i];
        const double logp = (r->z[id] - most) / s->temperature - lse;

        if (r->term[id] > 0.0f)
            entropy -= r->term[id] / *sum * logp;
    }
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = r->ids[i];
        const double logp = (r->z[id] - most) / s->temperature - lse;

        r->key[i] = ~heap_key(-(float)fabs(logp + entropy), id);
    }
    return pop_smallest(r, n, s->typical * *sum, 0.0, sum);
}

size_t
sample_keep(const struct sampling *s, size_t V, struct sample_room *r,
    double *sum)
{
    size_t n = V;

    assert(V > 0 && s->temperature > 0.0);
    *sum = kern.exp(r->term, r->z, V, kern.max(r->z, V),
        (float)(1.0 / s->temperature));
    if (s->top_k > 0) {
        n = keep_top_k(s, V, r, sum);
    } else if (s->top_p < 1.0 || s->min_p > 0.0) {
        for (size_t i = 0; i < V; i++)
            r->key[i] = ~heap_key(r->z[i], i);
        n = pop_smallest(r, V, s->top_p < 1.0 ? s->top_p * *sum : INFINITY,
            s->min_p, sum);
    } else {
        for (size_t i = 0; i < V; i++)
            r->ids[i] = (uint32_t)i;
    }
    return s->typical < 1.0 ? keep_typical(s, n, V, r, sum) : n;
}

uint32_t
sample_next(const struct sampling *s, const struct sample_past *past,
    const float *z, size_t V, double u, struct sample_room *r)
{
    double sum, at = 0.0;
    uint32_t last = 0;
    size_t n;

    sample_change(s, past, z, V, r);
    if (s->temperature == 0.0)
        return sample_largest(r->z, V);
    n = sample_keep(s, V, r, &sum);
    for (size_t i = 0; i < n; i++) {
        const uint32_t id = r->ids[i];

        at += r->term[id];
        if (u * sum < at)
            return id;
        last = r->term[id] > 0.0f ? id : last;
    }
    return last; /* by rounding, the sum in this order may end before u * sum */
}

uint32_t
sample_largest(const float *z, size_t V)
{
    const float most = kern.max(z, V);
    uint32_t i = 0;

    while (z[i] != most)
        i++;
    return i;
}

int
sample_finite(const float *z, size_t V)
{
    return isfinite(kern.sumsq(z, V));
}

/* ---- log probabilities ---- */

double
sample_lse(const float *z, size_t V)
{
    const float most = kern.max(z, V);
    const size_t width = kern_slice(V);
    double sum = 0.0;

    for (size_t v = 0; v < V; v += width)
        sum += kern.expsum(z + v, V - v < width ? V - v : width, most, 1.0f);
    return most + log(sum);
}

float
sample_logp(float z, double lse)
{
    return fminf((float)(z - lse), 0.0f);
}

void
sample_top(const float *z, size_t V, double lse, size_t k, uint32_t *ids,
    float *logp, uint64_t *key)
{
    size_t n = 0;

    for (size_t i = 0; k > 0 && i < V; i++)
        n = heap_keep(key, n, k, heap_key(z[i], i));
    heap_sort(key, n);
    for (size_t i = 0; i < n; i++) {
        ids[i] = heap_number(key[i]);
        logp[i] = sample_logp(z[ids[i]], lse);
    }
}
