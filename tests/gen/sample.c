/* Sampling: kept tokens and probabilities against transformers' logits
 * processors, draws against exact probabilities. */
#include "base/mem.h"
#include "base/rng.h"
#include "gen/sample.h"
#include "kern/kern.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <float.h>
#include <string.h>

enum { V = 60, SETTINGS = 8, DRAWS = 100000 };

static struct sample_room room;

/* A case of the golden file. */
struct sampler_case {
    float z[V], p[V];
    struct sampling how;
    struct sample_bias bias[V];
    struct sample_past past;
};

static void
read_case(const struct golden *g, size_t i, struct sampler_case *c)
{
    const struct st_tensor *z = golden_get(g, "logits"),
                           *p = golden_get(g, "p"), *b = golden_get(g, "bias"),
                           *set = golden_get(g, "set"),
                           *prompt = golden_get(g, "prompt");
    const size_t n = prompt->n / (set->n / SETTINGS);
    double s[SETTINGS];

    for (size_t k = 0; k < SETTINGS; k++)
        s[k] = golden_at(set, i * SETTINGS + k);
    c->how = (struct sampling){ s[0], (size_t)s[1], s[2], s[3], s[4], s[5],
        s[6], s[7], c->bias, 0 };
    for (size_t v = 0; v < V; v++) {
        const float add = (float)golden_at(b, i * V + v);

        c->z[v] = (float)golden_at(z, i * V + v);
        c->p[v] = (float)golden_at(p, i * V + v);
        if (add != 0.0f)
            c->bias[c->how.biases++] = (struct sample_bias){ (uint32_t)v, add };
    }
    c->past = (struct sample_past){ (const uint32_t *)prompt->data + i * n,
        (const uint32_t *)golden_get(g, "text")->data + i * n, NULL, n, n, 0,
        NULL };
}

/* Is the kept set, and are the kept probabilities, as in the case? */
static int
right_case(const struct sampler_case *c, double *most)
{
    double sum, p[V] = { 0 };
    size_t n;

    sample_change(&c->how, &c->past, c->z, V, &room);
    n = sample_keep(&c->how, V, &room, &sum);
    for (size_t i = 0; i < n; i++)
        p[room.ids[i]] += room.term[room.ids[i]] / sum;
    for (size_t v = 0; v < V; v++) {
        if ((p[v] > 0.0) != (c->p[v] > 0.0f))
            return 0;
        *most = farther(*most, fabs(p[v] - (double)c->p[v]));
    }
    return 1;
}

/* Returns the sum of (seen - expected)^2 / expected over the tokens that are
 * expected at least 5 times, and their number in *cells; 1e9 if a token with
 * p = 0 was drawn. */
static double
chi_square(const size_t seen[V], const float p[V], size_t *cells)
{
    double sum = 0.0;

    *cells = 0;
    for (size_t v = 0; v < V; v++) {
        const double want = (double)p[v] * DRAWS, off = (double)seen[v] - want;

        if (want >= 5.0) {
            sum += off * off / want;
            ++*cells;
        } else if (seen[v] > 0 && !(p[v] > 0.0f)) {
            return 1e9;
        }
    }
    return sum;
}

static void
test_draws(const struct sampler_case *c, size_t number)
{
    size_t seen[V] = { 0 }, cells;
    double x;

    for (size_t i = 0; i < DRAWS; i++)
        seen[sample_next(&c->how, &c->past, c->z, V,
            rng_unit(rng_key(3, number), i), &room)]++;
    x = chi_square(seen, c->p, &cells);
    /* chi-square has mean cells - 1 and variance 2 (cells - 1); the limit is 4
     * deviations, as it is skewed to the right */
    ok(cells > 1 && x <= (double)cells - 1 + 4 * sqrt(2.0 * (double)cells),
        "%d draws of case %zu have the probabilities that transformers gives "
        "(chi-square %.1f, %zu cells)",
        DRAWS, number, x, cells);
}

static void
test_chain(void)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path =
        xasprintf("%s/tests/golden/generate/samplers.safetensors", top);
    struct sampler_case c;
    struct golden g;
    size_t n, good = 0, drawn = 0;
    double most = 0.0;

    golden_open(&g, path);
    n = golden_get(&g, "set")->n / SETTINGS;
    for (size_t i = 0; i < n; i++) {
        read_case(&g, i, &c);
        good += (size_t)right_case(&c, &most);
    }
    ok(n == 200 && good == n, "%zu of %zu settings keep transformers' tokens",
        good, n);
    ok(most <= 2e-6, "their probabilities are transformers' (off by %.2g)",
        most);
    for (size_t i = 0; i < n && drawn < 6; i += drawn < 5 ? 1 : 17) {
        read_case(&g, i, &c);
        test_draws(&c, i);
        drawn++;
    }
    golden_close(&g);
    free(path);
}

static void
test_nucleus(void)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/generate/nucleus.safetensors", top);
    const struct st_tensor *z, *kept;
    struct sampling how = SAMPLING_DEFAULTS;
    const struct sample_past none = { 0 };
    struct golden g;
    size_t good = 0, n;

    golden_open(&g, path);
    z = golden_get(&g, "logits");
    kept = golden_get(&g, "kept");
    n = golden_get(&g, "tau")->n;
    for (size_t i = 0; i < n; i++) {
        const size_t width = z->n / n;
        unsigned char is[V] = { 0 };
        float row[V];
        double sum;
        size_t k;

        for (size_t v = 0; v < width; v++)
            row[v] = (float)golden_at(z, i * width + v);
        how.temperature = golden_at(golden_get(&g, "tau"), i);
        how.top_p = golden_at(golden_get(&g, "p"), i);
        sample_change(&how, &none, row, width, &room);
        k = sample_keep(&how, width, &room, &sum);
        for (size_t j = 0; j < k; j++)
            is[room.ids[j]] = 1;
        good += memcmp(is, (const unsigned char *)kept->data + i * width,
                    width) == 0;
    }
    ok(n == 60 && good == n, "%zu of %zu nuclei are transformers'", good, n);
    golden_close(&g);
    free(path);
}

/* The token that the uniform number u draws from logits z [5]. */
static uint32_t
drawn_at(const float *z, double top_p, double tau, double u)
{
    struct sampling how = SAMPLING_DEFAULTS;
    const struct sample_past none = { 0 };

    how.top_p = top_p;
    how.temperature = tau;
    return sample_next(&how, &none, z, 5, u, &room);
}

static void
test_edges(void)
{
    const float z[] = { 1.0f, 3.0f, 3.0f, -INFINITY, 2.0f };
    const uint32_t banned[] = { 1 };
    struct sampling how = SAMPLING_DEFAULTS;
    const struct sample_past none = { 0 },
                             ban = { .banned = banned, .nbanned = 1 };
    const float bad[] = { 1.0f, NAN, 3.0f }, large[] = { FLT_MAX, -FLT_MAX };
    double sum;

    how.temperature = 1.0;
    how.top_p = 0.5;
    sample_change(&how, &none, z, 5, &room);
    ok(sample_keep(&how, 5, &room, &sum) == 2 && room.ids[0] == 1 &&
            room.ids[1] == 2,
        "a nucleus takes the lower id of equals first");
    ok(drawn_at(z, 1.0, 1.0, 0.0) == 0 &&
            drawn_at(z, 1.0, 1.0, 0x1.fffffp-1) == 4,
        "the ends of the sum are the first and last id");
    ok(drawn_at(z, 0.01, 1.0, 0.999) == 1, "a nucleus has one token at least");
    ok(drawn_at(z, 1.0, 0.0, 0.7) == 1, "temperature 0 takes the best token");
    how.temperature = 0.0;
    ok(sample_next(&how, &ban, z, 5, 0.0, &room) == 2,
        "a banned token is never chosen");
    ok(sample_finite(z, 3) && !sample_finite(bad, 3) && !sample_finite(z, 5),
        "logits that are not finite are found");
    ok(sample_finite(large, 2), "the largest finite logits are finite");
}

static void
test_top(void)
{
    float z[V], logp[V];
    uint32_t ids[V];
    double lse, sum = 0.0;
    size_t sorted = 1;

    for (size_t v = 0; v < V; v++)
        z[v] = 3.0f * (float)rng_normal(5, v);
    z[7] = z[8];
    lse = sample_lse(z, V);
    sample_top(z, V, lse, V, ids, logp, room.key);
    for (size_t i = 0; i < V; i++) {
        sum += exp(logp[i]);
        sorted += i > 0 &&
            (z[ids[i]] < z[ids[i - 1]] ||
                (z[ids[i]] == z[ids[i - 1]] && ids[i] > ids[i - 1]));
    }
    ok(near(sum, 1.0, 1e-6, 0), "probabilities of all tokens sum to 1");
    ok(sorted == V, "the most probable tokens are in order, equals by id");
    ok(logp[3] == sample_logp(z[ids[3]], lse),
        "a token has the same bits alone and among the most probable ones");
}

static void
test_check(void)
{
    static const char *const names[] = { "temperature", "top_p", "min_p",
        "typical_p", "repetition_penalty", "presence_penalty",
        "frequency_penalty", "logit_bias" };
    const struct sample_bias bias = { 9, 1.0f };
    const struct sampling good = SAMPLING_DEFAULTS;
    size_t n = 0;
    struct err e;

    for (size_t i = 0; i < 8; i++) {
        struct sampling s = good;
        double *const value[] = { &s.temperature, &s.top_p, &s.min_p,
            &s.typical, &s.repetition, &s.presence, &s.frequency };

        if (i < 7)
            *value[i] = i == 0 ? 0.001 : 2e9;
        s.bias = &bias;
        s.biases = i == 7;
        n += sampling_check(&s, 9, &e) < 0 &&
            strncmp(e.msg, names[i], strlen(names[i])) == 0;
    }
    ok(sampling_check(&good, 9, &e) == 0 && n == 8,
        "a value out of range is refused by its name (%zu of 8)", n);
}

int
main(void)
{
    if (kern_init() != NULL)
        return 1;
    sample_room_init(&room, V);
    test_chain();
    test_nucleus();
    test_edges();
    test_top();
    test_check();
    sample_room_release(&room);
    return done_testing();
}
