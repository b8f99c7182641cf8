/* Models whose matrices are packed for products in integers: a text's bits do
 * not depend on what is computed with it, and its logits are those of a model
 * in double whose activations are rounded (scripts/oracle/integers.py). */
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "kern/kern.h"
#include "model/decode/forward_kv.h"
#include "model/pass/head.h"
#include "model/decode/packed.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { V = 300, LENGTH = 70, MOST = 32, NEXT = 4 };
static uint32_t ids[MOST][LENGTH];

/* Set z [NEXT,V] to the logits after the last NEXT tokens of text 0, which is
 * computed with n - 1 others, as text `at` of the call.  `step`: tokens that
 * are fed in a call. */
static void
run_texts(const struct model *m, struct pool *pool, size_t n, size_t at,
    size_t step, float *z)
{
    struct kvcache *k = kv_new(m, pool, n, n * kv_pages(LENGTH), LENGTH);
    float *logits = xreallocarray(NULL, n * V, sizeof *logits);
    struct kv_more more[MOST];

    for (size_t t = 0, some; t < LENGTH; t += some) {
        some = t < LENGTH - NEXT ? LENGTH - NEXT - t : 1;
        some = some < step ? some : step;
        for (size_t i = 0; i < n; i++)
            more[i] = (struct kv_more){ i,
                ids[i == at      ? 0
                        : i == 0 ? at
                                 : i] +
                    t,
                some, 1, NULL, 0 };
        if (kv_feed(k, more, n, logits) < 0)
            die(EX_SYS, "no room");
        if (t + some > LENGTH - NEXT)
            memcpy(z + (t + some - 1 - (LENGTH - NEXT)) * V, logits + at * V,
                V * sizeof *z);
    }
    free(logits);
    kv_free(k);
}

static void
test_same_bits(const struct model *m, const char *name)
{
    static const size_t batch[] = { 2, 3, 7, 32 };
    static float alone[NEXT * V], z[NEXT * V];
    struct pool *one = pool_new(1, NULL), *three = pool_new(3, NULL);

    run_texts(m, one, 1, 0, LENGTH, alone);
    for (size_t i = 0; i < 4; i++) {
        run_texts(m, one, batch[i], batch[i] - 1, LENGTH, z);
        ok(memcmp(z, alone, sizeof z) == 0,
            "%s: a text has the same bits in a batch of %zu", name, batch[i]);
    }
    run_texts(m, three, 7, 3, LENGTH, z);
    ok(memcmp(z, alone, sizeof z) == 0,
        "%s: a text has the same bits with 3 threads", name);
    run_texts(m, one, 1, 0, 1, z);
    ok(memcmp(z, alone, sizeof z) == 0,
        "%s: a text has the same bits when it is fed token by token", name);
    run_texts(m, one, 2, 1, 13, z);
    ok(memcmp(z, alone, sizeof z) == 0,
        "%s: a text has the same bits when it is fed by 13 tokens", name);
    pool_free(one);
    pool_free(three);
}

/* Logits of the golden text against those in double of rounded activations. */
static void
test_golden(const struct packed *p, const struct golden *g, const char *name)
{
    const struct st_tensor *id = golden_get(g, "ids"), *want;
    const size_t n = id->n;
    struct pool *pool = pool_new(2, NULL);
    struct kvcache *k = kv_new(packed_model(p), pool, 1, kv_pages(n), n);
    float *z = xreallocarray(NULL, n * V, sizeof *z);
    float *states = xreallocarray(NULL, n * 32, sizeof *states);
    const struct kv_more more = { 0, (const uint32_t *)id->data, n, 0, states,
        0 };
    double far = 0.0;

    want = golden_get(g, name);
    if (kv_feed(k, &more, 1, NULL) < 0)
        die(EX_SYS, "no room");
    kv_head(k, states, n, z);
    for (size_t i = 0; i < n * V; i++)
        far = farther(far, fabs(z[i] - ((const float *)want->data)[i]));
    ok(far < 1e-4, "%s: logits are those of rounded activations (off by %.2g)",
        name, far);
    free(states);
    free(z);
    kv_free(k);
    pool_free(pool);
}

/* Mean KL between softmaxes of rows of p and q. */
static double
mean_kl(const float *p, const float *q, size_t n)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++, p += V, q += V) {
        double zp = 0.0, zq = 0.0, s = 0.0;

        for (size_t v = 0; v < V; v++) {
            zp += exp(p[v]);
            zq += exp(q[v]);
        }
        for (size_t v = 0; v < V; v++)
            s += exp(p[v]) / zp * ((double)p[v] - q[v]);
        sum += (s + log(zq) - log(zp)) / (double)n;
    }
    return sum;
}

static void
test_compare(const struct packed *p, const struct golden *g,
    const struct model *m, const char *name)
{
    const struct st_tensor *id = golden_get(g, "ids");
    const float *ints = (const float *)golden_get(g, name)->data;
    const uint32_t *text = (const uint32_t *)id->data;
    struct pool *pool = pool_new(2, NULL);
    const struct packed_error e = packed_compare(p, pool, text, 0, id->n);
    struct fwd *f = fwd_new(m, pool, 1, id->n);
    uint32_t *first = xcalloc(id->n, sizeof *first);
    const struct rows r = { 1, id->n, text, first };
    float *x = xreallocarray(NULL, id->n * 32, sizeof *x);
    float *z = xreallocarray(NULL, id->n * V, sizeof *z);

    fwd_states(f, &r, x);
    fwd_head(f, x, id->n, z);
    ok(near(e.kl, mean_kl(z, ints, id->n), 1e-9, 1e-3),
        "%s: the KL of integers to exact arithmetic is told", name);
    ok(near(e.back, mean_kl(ints, z, id->n), 1e-9, 1e-3),
        "%s: the KL of exact arithmetic to integers is told", name);
    free(z);
    free(x);
    free(first);
    fwd_free(f);
    pool_free(pool);
}

/* logits: the golden file; its tensor `name` has the logits of the model. */
static void
test_model(const char *path, const char *logits, const char *name,
    struct pool *pool)
{
    struct golden g;
    struct packed *p;
    struct model m;
    struct err e;

    golden_open(&g, logits);
    if (model_open(&m, path, &e) < 0)
        die_err(&e);
    p = packed_new(&m, pool);
    ok(packed_bytes(p) > 0, "%s: matrices are packed", name);
    test_same_bits(packed_model(p), name);
    test_golden(p, &g, name);
    test_compare(p, &g, &m, name);
    packed_free(p);
    model_close(&m);
    golden_close(&g);
}

int
main(void)
{
    static const char *const names[] = { "q4_0", "q4_1", "q8_0" };
    struct pool *pool = pool_new(2, NULL);
    struct model m;
    struct err e;

    if (kern_init() != NULL)
        return 1;
    for (size_t i = 0; i < MOST; i++)
        for (size_t t = 0; t < LENGTH; t++)
            ids[i][t] = (uint32_t)(rng_u64(i, t) % V);
    for (size_t i = 0; i < 3; i++) {
        char path[80];

        snprintf(path, sizeof path, "tests/golden/gguf/%s.gguf", names[i]);
        test_model(path, "tests/golden/integers/logits.safetensors", names[i],
            pool);
    }
    test_model("tests/golden/integers/mixture.gguf",
        "tests/golden/integers/mixture.safetensors", "mixture", pool);
    if (model_open(&m, "tests/golden/gguf/f32.gguf", &e) < 0)
        die_err(&e);
    ok(packed_new(&m, pool) == NULL, "a model in fp32 has no matrices to pack");
    model_close(&m);
    pool_free(pool);
    return done_testing();
}
