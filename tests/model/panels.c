/*
 * Passes whose matrices are laid out once for products in bfloat16 (panels.h),
 * against passes without such panels, bit by bit: final states, gradients and
 * passes that hold the panels, for tiles that threads take whole or share.
 */
#include "kern/kern.h"
#include "base/mem.h"
#include "base/rng.h"
#include "cli/die.h"
#include "model/files/open.h"
#include "model/pass/backward.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { B = 2, T = 90 };
static uint32_t ids[B * T], first[B * T];

/* Final states of all tokens after `passes` passes, the last of which counts;
 * hold: the panels of all blocks stay. */
static float *
states(const struct model *m, size_t threads, int hold, int passes)
{
    const struct rows r = { B, T, ids, first };
    const size_t n = (size_t)B * T * m->c.d;
    struct pool *pool = pool_new(threads, NULL);
    struct fwd *f = fwd_new_blocks(m, pool, B, T);
    float *x = xreallocarray(NULL, n, sizeof *x);

    if (hold)
        fwd_hold(f);
    for (int p = 0; p < passes; p++) {
        fwd_embed(f, &r, x);
        for (size_t i = 0; i < m->c.L; i++)
            fwd_block(f, i, &r, x, x);
    }
    fwd_norm(f, &r, x, x);
    fwd_free(f);
    pool_free(pool);
    return x;
}

/* Gradients of all parameters, for a gradient of 1 at each final state. */
static float *
gradients(const struct model *m, size_t threads, int how, size_t *n)
{
    const struct rows r = { B, T, ids, first };
    struct pool *pool = pool_new(threads, NULL);
    struct tmodel t;
    struct bwd *b;
    float *g;

    tmodel_init(&t, m);
    b = bwd_new(&t, pool, B, T, how);
    bwd_forward(b, &r);
    for (size_t i = 0; i < (size_t)B * T * m->c.d; i++)
        bwd_final(b)[i] = 1.0f;
    bwd_backward(b, &r, NULL, NULL);
    bwd_flush(b);
    *n = t.nparam;
    g = xreallocarray(NULL, t.nparam, sizeof *g);
    for (size_t i = 0, at = 0; i < t.ngroup; at += t.group[i++].n)
        memcpy(g + at, t.group[i].g, t.group[i].n * sizeof *g);
    bwd_free(b);
    tmodel_release(&t);
    pool_free(pool);
    return g;
}

static void
same(const char *name, size_t threads, const char *what, const float *want,
    float *got, size_t n)
{
    size_t bad = 0;

    for (size_t i = 0; i < n; i++)
        bad += memcmp(&want[i], &got[i], sizeof *got) != 0;
    ok(bad == 0,
        "%s, %zu threads: %s have the bits of a pass without panels (%zu "
        "differ)",
        name, threads, what, bad);
    free(got);
}

/* kern.pack NULL: there are no panels. */
static void
test_model(const char *name)
{
    const char *top = getenv("RETORT_TOP") ? getenv("RETORT_TOP") : ".";
    char *path = xasprintf("%s/tests/golden/%s", top, name);
    void (*const pack)(void *out, size_t n, size_t k, const void *b, int half,
        size_t j_step, size_t l_step) = kern.pack;
    struct model m;
    struct err e;
    float *x, *g;
    size_t n;

    if (model_open(&m, path, &e) != 0)
        die_err(&e);
    for (size_t i = 0; i < B * T; i++)
        ids[i] = (uint32_t)(rng_u64(5, i) % m.c.V);
    kern.pack = NULL;
    x = states(&m, 2, 0, 1);
    g = gradients(&m, 2, 0, &n);
    kern.pack = pack;
    for (size_t threads = 1; threads <= 3; threads++) {
        same(name, threads, "states", x, states(&m, threads, 0, 2),
            B * T * m.c.d);
        same(name, threads, "states of held panels", x,
            states(&m, threads, 1, 2), B * T * m.c.d);
        same(name, threads, "gradients", g, gradients(&m, threads, 0, &n), n);
        same(name, threads, "gradients of recomputed activations", g,
            gradients(&m, threads, BWD_RECOMPUTE, &n), n);
    }
    free(x);
    free(g);
    model_close(&m);
    free(path);
}

int
main(void)
{
    static const char *const names[] = { "family/gemma3", "family/qwen2",
        "family/qwen3_5", "family/youtu", "family/cohere2", "family/lfm2",
        "family/apertus", "gguf/bf16.gguf", "gguf/q4_0.gguf", "gguf/f32.gguf" };

    kern_init();
    kern_compute("bf16");
    if (kern.pack == NULL) {
        tap_skip("panels", "this processor's products have none");
        return done_testing();
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        test_model(names[i]);
    return done_testing();
}
