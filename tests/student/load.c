/* Checkpoints whose ranks have moments of their own (student --sync-every). */
#include "../lib/tap.h"
#include "student/load.h"
#include "student/save.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"

#include <stdlib.h>
#include <string.h>

enum { RANKS = 3 };
static struct pool *pool;

static void
check(int r, const struct err *e)
{
    if (r < 0) {
        printf("Bail out! %s\n", e->msg);
        exit(1);
    }
}

static void
open_model(struct tmodel *t)
{
    struct model m;
    struct err e;

    check(model_open(&m, "tests/golden/grad/tied-teacher", &e), &e);
    tmodel_init(t, &m);
    model_close(&m);
}

/* A step with random gradients. */
static void
step(struct tmodel *t, struct adamw *a, uint64_t seed)
{
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 1e-8,
        .average = 0.5 };
    struct err e;
    double norm;

    for (size_t i = 0; i < t->ngroup; i++)
        for (size_t j = 0; j < t->group[i].n; j++)
            t->group[i].g[j] = (float)(rng_unit(rng_key(seed, i), j) - 0.3);
    check(adamw_step(a, t, pool, &o, 1, &norm, &e), &e);
}

/* Write the file of one of RANKS ranks, which has taken rank + 2 steps. */
static void
save_rank(struct tmodel *t, struct adamw *a, size_t rank, enum dtype type)
{
    const struct progress_state st = { .step = 5,
        .tokens = 40,
        .norms = 1.5 + (double)rank,
        .weights = 2.0 };
    struct position pos = { .seq = 1,
        .chain = "0123456789abcdef0123456789abcdef" };
    struct saver s = { .run = "run",
        .ranks = dist_world(),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .change = PTHREAD_COND_INITIALIZER };
    char to[80];
    struct err e;

    for (size_t i = 0; i < rank + 2; i++)
        step(t, a, 10 * rank + i);
    check(save_begin(&s, t, a, &st, &pos, &e), &e);
    check(save_done(&s, &e), &e);
    snprintf(to, sizeof to, "ranks-%d/rank-%zu-of-%d.safetensors", (int)type,
        rank, RANKS);
    if (rename("run/step-5/optimiser.safetensors", to) != 0) {
        printf("Bail out! %s\n", to);
        exit(1);
    }
    check(dir_remove("run/step-5", &e), &e);
}

static double
moment_at(struct adamw *a, size_t i, int k, size_t j)
{
    const void *x = adamw_moment(a, i, k);
    float f;

    if (adamw_kind_dtype(a, k) == DT_F32)
        return ((const float *)x)[j];
    kern.widen_bf16(&f, (const uint16_t *)x + j, 1);
    return f;
}

/* Moments that are not the mean of those of the ranks, within `share`. */
static size_t
unlike_mean(const struct tmodel *t, struct adamw *got, struct adamw **a,
    double share)
{
    size_t wrong = 0;

    for (size_t i = 0; i < t->ngroup; i++)
        for (int k = 0; k < adamw_kinds(got); k++)
            for (size_t j = 0; j < t->group[i].n; j++) {
                double sum = 0.0;

                for (size_t r = 0; r < RANKS; r++)
                    sum += moment_at(a[r], i, k, j);
                wrong += !near(moment_at(got, i, k, j), sum / RANKS, 1e-12,
                    k == 2 ? 1e-6 : share);
            }
    return wrong;
}

static void
test_mean(enum dtype type, double share)
{
    const char *name = type == DT_F32 ? "fp32" : "bf16";
    struct tmodel t[RANKS], u;
    struct adamw *a[RANKS], *b;
    struct progress_state st = { 0 };
    char dir[40], file[100];
    struct err e;

    snprintf(dir, sizeof dir, "ranks-%d", (int)type);
    check(io_mkdirs(dir, &e), &e);
    check(io_mkdirs("run", &e), &e);
    open_model(&u);
    for (size_t r = 0; r < RANKS; r++) {
        open_model(&t[r]);
        a[r] = adamw_new(&t[r], type);
        adamw_average(a[r], &t[r]);
        save_rank(&t[r], a[r], r, type);
    }
    b = adamw_new(&u, type);
    adamw_average(b, &u);
    check(load_checkpoint(dir, &u, b, NULL, &st, &e), &e);
    ok(unlike_mean(&u, b, a, share) == 0,
        "a process alone has the mean of %s moments", name);
    ok(st.step == 5 && st.tokens == 40 && st.norms <= 1.5 && st.norms >= 1.5 &&
            adamw_count(b) == 2,
        "the counters of rank 0 go with %s moments", name);
    snprintf(file, sizeof file, "%s/rank-1-of-%d.safetensors", dir, RANKS);
    remove(file);
    ok(load_checkpoint(dir, &u, b, NULL, &st, &e) < 0 &&
            strstr(e.msg, "rank-1-of-3.safetensors") != NULL,
        "a missing file of %s moments is named: %s", name, e.msg);
    adamw_free(b);
    tmodel_release(&u);
    for (size_t r = 0; r < RANKS; r++) {
        adamw_free(a[r]);
        tmodel_release(&t[r]);
    }
}

int
main(void)
{
    struct err e;

    tap_scratch();
    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL)
        return 1;
    test_mean(DT_F32, 1e-6);
    test_mean(DT_BF16, 4e-3);
    pool_free(pool);
    return done_testing();
}
