/* The outer step against PyTorch's SGD, and against double precision. */
#include "../lib/golden.h"
#include "../lib/tap.h"
#include "train/outer.h"

#include <math.h>

enum { N = 37, ROUNDS = 12, RANKS = 3, GROUPS = 2, BIG = (1 << 16) + 77 };

/* A model of these groups of parameters, without tensors. */
static void
open_groups(struct tmodel *t, const size_t n[GROUPS])
{
    *t = (struct tmodel){ .ngroup = GROUPS };
    t->group = xcalloc(GROUPS, sizeof *t->group);
    for (size_t i = 0; i < GROUPS; i++) {
        t->group[i].n = n[i];
        t->group[i].p = xcalloc(n[i] + 1, sizeof(float));
        t->group[i].g = xcalloc(n[i] + 1, sizeof(float));
    }
}

static void
close_groups(struct tmodel *t)
{
    for (size_t i = 0; i < GROUPS; i++) {
        free(t->group[i].p);
        free(t->group[i].g);
    }
    free(t->group);
}

/* The mean over ranks of what parameter j moves in a round. */
static double
mean_moved(const struct golden *g, size_t round, size_t j)
{
    const struct st_tensor *moved = golden_get(g, "moved");
    double sum = 0.0;

    for (size_t r = 0; r < RANKS; r++)
        sum += golden_at(moved, (round * RANKS + r) * N + j);
    return sum / RANKS;
}

/* Twelve rounds with the pair of numbers that has index k in the file. */
static void
test_path(const struct golden *g, struct pool *pool, int k, double rate,
    double momentum)
{
    const struct outer_opt opt = { rate, momentum, DIST_RING };
    const struct st_tensor *start = golden_get(g, "start"), *path, *end = NULL;
    size_t wrong = 0, dirty = 0;
    struct tmodel t;
    struct outer *o;
    char key[40];

    snprintf(key, sizeof key, "path.%d", k);
    path = golden_get(g, key);
    snprintf(key, sizeof key, "velocity.%d", k);
    if (momentum > 0.0)
        end = golden_get(g, key);
    open_groups(&t, (const size_t[GROUPS]){ 0, N });
    o = outer_new(&opt, &t, dist_world());
    for (size_t j = 0; j < N; j++)
        t.group[1].p[j] = (float)golden_at(start, j);
    outer_start(o, &t);
    for (size_t i = 0; i < ROUNDS; i++) {
        for (size_t j = 0; j < N; j++)
            t.group[1].p[j] -= (float)mean_moved(g, i, j);
        outer_step(o, &t, pool);
        for (size_t j = 0; j < N; j++) {
            wrong +=
                !near(t.group[1].p[j], golden_at(path, i * N + j), 2e-6, 2e-6);
            dirty += t.group[1].g[j] != 0.0f;
        }
    }
    for (size_t j = 0; j < N && end != NULL; j++)
        wrong += !near(outer_velocity(o, 1)[j], golden_at(end, j), 2e-6, 1e-5);
    ok(wrong == 0, "the path with %g,%g is that of torch.optim.SGD", rate,
        momentum);
    ok(dirty == 0, "the gradients are 0 after the outer step with %g,%g", rate,
        momentum);
    ok((outer_velocity(o, 1) != NULL) == (momentum > 0.0) &&
            outer_bytes(o) >= N * outer_each(&opt),
        "the velocity takes memory with momentum alone (%g)", momentum);
    outer_free(o);
    close_groups(&t);
}

/* Parameters of more than one task, one round after another. */
static void
test_big(struct pool *pool)
{
    const struct outer_opt opt = { 0.7, 0.9, DIST_RING };
    double *last = xcalloc(BIG, sizeof *last), *u = xcalloc(BIG, sizeof *u);
    size_t wrong = 0;
    struct tmodel t;
    struct outer *o;
    float *p;

    open_groups(&t, (const size_t[GROUPS]){ 5, BIG });
    o = outer_new(&opt, &t, dist_world());
    p = t.group[1].p;
    for (size_t j = 0; j < BIG; j++)
        last[j] = p[j] = (float)sin((double)j);
    outer_start(o, &t);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < BIG; j++)
            p[j] += (float)(1e-2 * cos((double)(j * (i + 1))));
        for (size_t j = 0; j < BIG; j++) {
            const double moved = last[j] - (double)p[j];

            u[j] = 0.9 * u[j] + moved;
            last[j] -= 0.7 * (moved + 0.9 * u[j]);
        }
        outer_step(o, &t, pool);
        for (size_t j = 0; j < BIG; j++) {
            wrong += !near(p[j], last[j], 1e-6, 1e-6);
            last[j] = p[j];
        }
    }
    ok(wrong == 0, "%d parameters are those of double precision", BIG);
    outer_free(o);
    close_groups(&t);
    free(last);
    free(u);
}

int
main(void)
{
    struct err e;
    struct pool *pool = pool_new(2, &e);
    struct golden g;

    golden_open(&g, "tests/golden/outer.safetensors");
    test_path(&g, pool, 0, 1.0, 0.0);
    test_path(&g, pool, 1, 0.7, 0.9);
    test_path(&g, pool, 2, 0.5, 0.0);
    test_path(&g, pool, 3, 1.2, 0.5);
    test_big(pool);
    golden_close(&g);
    pool_free(pool);
    return done_testing();
}
