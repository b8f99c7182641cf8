/* Blocks with the gated delta rule, or with the short convolution: bits that
 * depend neither on neighbours nor on threads, texts that begin with an empty
 * state, value heads in a GGUF's order, texts that go back. */
#include "base/mem.h"
#include "cli/die.h"
#include "model/config/delta_config.h"
#include "model/decode/forward_kv.h"
#include "model/files/open.h"
#include "model/files/random.h"
#include "../lib/export_as.h"
#include "../lib/packed.h"
#include "../lib/small_config.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { B = PACKED_B, T = PACKED_T, V = 90, D = 40, L = 3 };
static uint32_t ids[B * T], first[B * T];
static float weight[(L + 1) * B * T * D];

static void
make_model(struct model *m, struct arena *a, const char *family)
{
    const struct config c = small_config(family, V, D, L, 12);

    model_random(m, &c, NULL, 3, a);
    packed_rows(ids, first, V);
    for (size_t i = 0; i < sizeof weight / sizeof *weight; i++)
        weight[i] = (float)rng_normal(9, i);
}

/* The final states [n,D] of a row of n tokens that is the last of `copies`
 * rows; the others have other tokens. */
static float *
states(const struct model *m, const uint32_t *id, const uint32_t *from,
    size_t n, size_t copies, size_t threads)
{
    struct pool *p = pool_new(threads, NULL);
    struct fwd *f = fwd_new(m, p, copies, n);
    uint32_t *all = xcalloc(2 * copies * n, sizeof *all);
    const struct rows r = { copies, n, all, all + copies * n };
    float *x = xcalloc(copies * n * m->c.d, sizeof *x);

    for (size_t i = 0; i < copies * n; i++) {
        all[i] = i / n + 1 == copies ? id[i % n] : (uint32_t)(i % V);
        all[copies * n + i] = i / n + 1 == copies ? from[i % n] : 0;
    }
    fwd_states(f, &r, x);
    memmove(x, x + (copies - 1) * n * m->c.d, n * m->c.d * sizeof *x);
    fwd_free(f);
    pool_free(p);
    free(all);
    return x;
}

/* The largest distance of y from x, divided by the largest |x|. */
static double
farthest_of(const float *x, const float *y, size_t n)
{
    double off = 0, most = 0;

    for (size_t i = 0; i < n; i++) {
        off = farther(off, fabs((double)x[i] - y[i]));
        most = farther(most, fabs((double)x[i]));
    }
    return off / most;
}

static int
same(const float *x, const float *y, size_t n)
{
    return memcmp(x, y, n * sizeof *x) == 0;
}

static void
test_neighbours(const struct model *m)
{
    /* row 3: pieces of 200, 100, 60 and 40 tokens, and padding */
    const uint32_t *id = ids + 3 * T, *from = first + 3 * T;
    static const uint32_t zero[T];
    float *x = states(m, id, from, T, 1, 1), *y;

    y = states(m, id, from, T, 7, 3);
    ok(same(x, y, T * D),
        "%s: a text has the same bits in a batch of 7, of 3 threads",
        m->c.arch);
    free(y);
    for (size_t t = 0, n; from[t] != UINT32_MAX; t += n) {
        for (n = 1; from[t + n] == from[t]; n++)
            ;
        y = states(m, id + t, zero, n, 1, 1);
        ok(farthest_of(x + t * D, y, n * D) <= 1e-5,
            "%s: a piece of %zu tokens begins with an empty state and window",
            m->c.arch, n);
        free(y);
    }
    free(x);
}

static void
test_gradients(const struct model *m)
{
    struct tmodel t;
    float *g, *other;

    tmodel_init(&t, m);
    g = packed_gradient(&t, ids, first, weight, 1, B, 0);
    other = packed_gradient(&t, ids, first, weight, 3, 1, 0);
    ok(same(g, other, t.nparam),
        "%s: gradients have the same bits a row at a time, by 3 threads",
        m->c.arch);
    free(other);
    other = packed_gradient(&t, ids, first, weight, 2, B, BWD_RECOMPUTE);
    ok(same(g, other, t.nparam),
        "%s: gradients have the same bits if activations are computed again",
        m->c.arch);
    free(other);
    free(g);
    tmodel_release(&t);
}

/* A GGUF has value heads in another order than Hugging Face.  A model in
 * training that was read from a GGUF has them in Hugging Face's order. */
static void
test_order(const struct model *m)
{
    const uint32_t *from = first + T;
    struct model gguf;
    struct tmodel t;
    struct err e;
    float *x = states(m, ids + T, from, T, 1, 1), *y;

    if (export_as(m, "m.gguf", "f32", &e) < 0 ||
        model_open(&gguf, "m.gguf", &e) < 0)
        die_err(&e);
    y = states(&gguf, ids + T, from, T, 1, 1);
    ok(gguf.c.delta.tiled && farthest_of(x, y, T * D) <= 1e-5,
        "a GGUF whose heads are in another order has the same states");
    free(y);
    tmodel_init(&t, &gguf);
    y = states(&t.m, ids + T, from, T, 1, 1);
    ok(!t.m.c.delta.tiled && farthest_of(x, y, T * D) <= 1e-5,
        "a model that is trained from the GGUF has the same states");
    free(y);
    free(x);
    tmodel_release(&t);
    model_close(&gguf);
    remove("m.gguf");
}

/* The logits after the last of n tokens of text 0. */
static float *
text_logits(struct kvcache *k, const uint32_t *id, size_t n)
{
    const struct kv_more more = { .ids = id, .n = n, .logits = 1 };
    float *z = xcalloc(V, sizeof *z);

    if (kv_feed(k, &more, 1, z) < 0)
        z[0] = NAN;
    return z;
}

static void
test_reuse(const struct model *m)
{
    struct pool *p = pool_new(2, NULL);
    struct kvcache *k = kv_new(m, p, 2, 20, T);
    float *x = text_logits(k, ids, 70), *y;

    kv_drop(k, 0);
    free(text_logits(k, ids + 100, 300));
    kv_drop(k, 0);
    y = text_logits(k, ids, 70);
    ok(same(x, y, V),
        "%s: a text in the place of another one begins with an empty state",
        m->c.arch);
    free(x);
    free(y);
    kv_free(k);
    pool_free(p);
}

/* A text of n tokens has the logits of its tokens after it went on with other
 * ones, `more` of them, and back; twice. */
static void
test_back(const struct model *m, size_t n, size_t more)
{
    struct pool *p = pool_new(2, NULL);
    struct kvcache *k = kv_new(m, p, 2, 20, T);
    float *x, *y;

    x = text_logits(k, ids, n + 5);
    kv_drop(k, 0);
    free(text_logits(k, ids, n));
    for (size_t i = 0; i < 2; i++) {
        free(text_logits(k, ids + 200 + i, more));
        kv_cut(k, 0, n);
    }
    y = text_logits(k, ids + n, 5);
    ok(same(x, y, V), "a text of %zu tokens goes back over %zu wrong ones", n,
        more);
    free(x);
    free(y);
    kv_free(k);
    pool_free(p);
}

static void
test_family(const char *family)
{
    struct arena a;
    struct model m;

    make_model(&m, &a, family);
    test_neighbours(&m);
    test_gradients(&m);
    test_reuse(&m);
    if (config_has_delta(&m.c)) {
        test_order(&m);
    } else {
        test_back(&m, 90, 1);
        test_back(&m, 90, KV_BACK);
        test_back(&m, 1, 7);
        test_back(&m, 2, KV_BACK);
    }
    model_random_free(&m);
    arena_release(&a);
}

int
main(void)
{
    test_family("qwen3_5_text");
    test_family("lfm2");
    return done_testing();
}
