/* The requests of generate bench; see bench_plan.h. */
#include "bench_plan.h"
#include "base/rng.h"

#include <math.h>

/* With n > 1 requests at a time a turn has WAVES * n requests, so that n run
 * most of the time. */
enum { WAVES = 4 };

/* Labels of keys. */
enum { KEY_PREFIX, KEY_PROMPT_LENGTH, KEY_LENGTH, KEY_LEVEL };

size_t
bench_per_turn(const struct bench_plan *p, size_t k)
{
    const size_t n = p->at_once[k] > 1 ? WAVES * p->at_once[k] : 1;

    return n < p->count ? n : p->count;
}

size_t
bench_warm_up(const struct bench_plan *p, size_t k)
{
    return p->at_once[k] < p->count ? p->at_once[k] : p->count;
}

size_t
bench_most_warm_up(const struct bench_plan *p)
{
    size_t most = 0;

    for (size_t k = 0; k < p->levels; k++)
        most = bench_warm_up(p, k) > most ? bench_warm_up(p, k) : most;
    return most;
}

/* The largest length that can be drawn around n. */
static size_t
highest_length(const struct bench_plan *p, size_t n)
{
    return (size_t)floor((double)n * (1.0 + p->vary));
}

/* Draw a length around n, at least `least`, for request i. */
static size_t
draw_length(const struct bench_plan *p, size_t n, size_t least, uint64_t label,
    size_t i)
{
    const size_t high = highest_length(p, n);
    size_t low = (size_t)ceil((double)n * (1.0 - p->vary));

    low = low < least ? least : low;
    return low +
        (size_t)(rng_unit(rng_key(p->seed, label), i) *
            (double)(high - low + 1));
}

size_t
bench_prompt_length(const struct bench_plan *p, size_t i)
{
    return p->prefix + draw_length(p, p->prompt, 1, KEY_PROMPT_LENGTH, i);
}

size_t
bench_new_tokens(const struct bench_plan *p, size_t i)
{
    return draw_length(p, p->length, 2, KEY_LENGTH, i);
}

size_t
bench_longest(const struct bench_plan *p)
{
    return p->prefix + highest_length(p, p->prompt) +
        highest_length(p, p->length);
}

void
bench_prompt(const struct bench_plan *p, size_t k, size_t i, uint32_t *ids)
{
    const size_t n = bench_prompt_length(p, i);
    const uint64_t common = rng_key(p->seed, KEY_PREFIX);
    const uint64_t own = rng_key(rng_key(p->seed, KEY_LEVEL + k), i);

    for (size_t j = 0; j < n; j++)
        ids[j] = (uint32_t)(rng_u64(j < p->prefix ? common : own, j) % p->V);
}
