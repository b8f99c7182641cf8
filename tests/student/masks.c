/* Sparse matrices in training: zeros stay, and what is kept stays trainable. */
#include "../lib/tap.h"
#include "student/load.h"
#include "student/masks.h"
#include "student/save.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/rng.h"
#include "kern/kern.h"
#include "model/files/export.h"

#include <stdlib.h>
#include <string.h>

static struct pool *pool;

static void
check(int r, const struct err *e)
{
    if (r < 0) {
        printf("Bail out! %s\n", e->msg);
        exit(1);
    }
}

/* Write a model in which the second block's down is 2:4, and of the first
 * block's K every third weight is zero. */
static void
make(const char *dir)
{
    static float down[16 * 24], k[12 * 16];
    struct model m;
    struct err e;

    check(model_open(&m, "tests/golden/grad/tied-teacher", &e), &e);
    weight_rows(&m.block[1].w[W_DOWN], 0, 16, down);
    weight_rows(&m.block[0].w[W_K], 0, 12, k);
    for (size_t i = 0; i < 16 * 24; i++)
        down[i] = i % 4 < 2 ? 0.0f : down[i];
    for (size_t i = 0; i < 12 * 16; i++)
        k[i] = i % 3 == 0 ? 0.0f : k[i];
    m.block[1].w[W_DOWN].data = (const unsigned char *)down;
    m.block[0].w[W_K].data = (const unsigned char *)k;
    m.block[1].sparse = 1u << W_DOWN;
    m.block[0].sparse = 1u << W_K;
    strcpy(m.c.sparse, "unstructured");
    check(model_export(&m, dir, DT_F32, NULL, NULL, &e), &e);
    model_close(&m);
}

static void
open_trained(struct tmodel *t, const char *dir, enum dtype grads)
{
    struct model m;
    struct err e;

    check(model_open(&m, dir, &e), &e);
    tmodel_init_as(t, &m, grads);
    model_close(&m);
}

/* Random gradients everywhere, then a step. */
static double
step(struct tmodel *t, struct adamw *a, uint64_t seed)
{
    const struct adamw_opt o = { .lr = 0.01,
        .beta1 = 0.9,
        .beta2 = 0.95,
        .eps = 0.0, /* so that 0 / 0 would show */
        .decay = 0.1,
        .clip = 1.0 };
    struct err e;
    double norm;

    for (size_t i = 0; i < t->ngroup; i++)
        for (size_t j = 0; j < t->group[i].n; j++) {
            const float x = (float)rng_normal(seed + i, j);

            if (t->group[i].half != NULL)
                kern.narrow_bf16(t->group[i].half + j, &x, 1);
            else
                t->group[i].g[j] = x;
        }
    check(adamw_step(a, t, pool, &o, 1, &norm, &e), &e);
    return norm;
}

static float *
down_of(struct tmodel *t)
{
    return t->group[1].p + t->group[1].at[W_DOWN];
}

static void
test_zeros(enum dtype grads, enum dtype moments)
{
    struct tmodel t;
    struct adamw *a;
    float *p, *k;
    size_t wrong = 0, still = 0;
    double norm = 0.0, sq = 0.0;

    open_trained(&t, "sparse", grads);
    a = adamw_new(&t, moments);
    p = down_of(&t);
    k = t.group[0].p + t.group[0].at[W_K];
    ok(tmodel_mask_bytes(&t) == 16 * 24 / 8 + 12 * 16 / 8,
        "a mask takes a bit a weight");
    for (size_t s = 1; s < 6; s++)
        norm = step(&t, a, 100 * s);
    for (size_t i = 0; i < 16 * 24; i++) {
        wrong += (i % 4 < 2) != (p[i] == 0.0f) || !isfinite(p[i]);
        still += i % 4 >= 2 && p[i] == 0.0f;
    }
    for (size_t i = 0; i < 12 * 16; i++)
        wrong += (i % 3 == 0) != (k[i] == 0.0f) || !isfinite(k[i]);
    ok(wrong == 0 && still == 0,
        "%s moments, %s gradients: zeros stay, others change (%zu)",
        dtype_name(moments), dtype_name(grads), wrong);
    wrong = 0;
    for (size_t i = 0; i < 16 * 24; i++)
        for (int w = 0; w < 2; w++) {
            const size_t at = t.group[1].at[W_DOWN] + i;
            const void *m = adamw_moment(a, 1, w);

            wrong += i % 4 < 2 &&
                (moments == DT_F32 ? ((const float *)m)[at] != 0.0f
                                   : ((const uint16_t *)m)[at] != 0);
        }
    ok(wrong == 0, "%s moments, %s gradients: zeros have no moments",
        dtype_name(moments), dtype_name(grads));
    /* the norm is that of the gradients that count */
    for (size_t i = 0; i < t.ngroup; i++)
        for (size_t j = 0; j < t.group[i].n; j++) {
            const size_t d = j - t.group[1].at[W_DOWN];
            const size_t q = j - t.group[0].at[W_K];
            const double x = (float)rng_normal(500 + i, j);

            if (!(i == 1 && d < 16 * 24 && d % 4 < 2) &&
                !(i == 0 && q < 12 * 16 && q % 3 == 0))
                sq += x * x;
        }
    ok(near(norm, sqrt(sq), 0, grads == DT_BF16 ? 1e-3 : 1e-5),
        "%s moments, %s gradients: the norm leaves zeros out",
        dtype_name(moments), dtype_name(grads));
    adamw_free(a);
    tmodel_release(&t);
}

/* A kept weight that happens to be zero in a checkpoint stays trainable. */
static void
test_zero_for_a_step(void)
{
    const size_t at = 4 * 7 + 2;
    const struct progress_state st = { .step = 3, .tokens = 9 };
    struct position pos = { .seq = 1 };
    struct progress_state back;
    struct saver s = { .run = "run",
        .ranks = dist_world(),
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .change = PTHREAD_COND_INITIALIZER };
    struct tmodel t, u;
    struct adamw *a, *b;
    struct err e;

    open_trained(&t, "sparse", DT_F32);
    a = adamw_new(&t, DT_F32);
    step(&t, a, 100);
    down_of(&t)[at] = 0.0f;
    strcpy(pos.chain, "0123456789abcdef0123456789abcdef");
    check(io_mkdirs("run", &e), &e);
    check(save_begin(&s, &t, a, &st, &pos, &e), &e);
    check(save_done(&s, &e), &e);
    open_trained(&u, "run/step-3", DT_F32);
    b = adamw_new(&u, DT_F32);
    check(load_checkpoint("run/step-3", &u, b, NULL, &back, &e), &e);
    ok(memcmp(t.group[1].mask[W_DOWN], u.group[1].mask[W_DOWN], 16 * 24 / 8) ==
                0 &&
            memcmp(t.group[0].mask[W_K], u.group[0].mask[W_K], 12 * 16 / 8) ==
                0,
        "a checkpoint has the masks");
    step(&t, a, 200);
    step(&u, b, 200);
    ok(down_of(&u)[at] != 0.0f &&
            memcmp(t.group[1].p, u.group[1].p, t.group[1].n * sizeof(float)) ==
                0,
        "a kept weight that was zero trains on");
    /* damage: the mask leaves out what is not zero */
    t.group[1].mask[W_DOWN][0] = 0;
    check(save_masks("run/step-3/masks.safetensors", &t, &e), &e);
    ok(load_checkpoint("run/step-3", &u, b, NULL, &back, &e) < 0 &&
            e.code == EX_INPUT &&
            strstr(e.msg, "run/step-3/masks.safetensors") != NULL &&
            strstr(e.msg, "layers.1.mlp.down_proj.weight: weight 2") != NULL,
        "a mask that leaves out a weight is refused: %s", e.msg);
    unlink("run/step-3/masks.safetensors");
    ok(load_checkpoint("run/step-3", &u, b, NULL, &back, &e) < 0,
        "a checkpoint without masks is refused: %s", e.msg);
    adamw_free(a);
    adamw_free(b);
    tmodel_release(&t);
    tmodel_release(&u);
}

int
main(void)
{
    struct err e;

    tap_scratch();
    if (kern_init() != NULL || (pool = pool_new(2, &e)) == NULL)
        return 1;
    make("sparse");
    test_zeros(DT_F32, DT_F32);
    test_zeros(DT_BF16, DT_BF16);
    test_zero_for_a_step();
    pool_free(pool);
    return done_testing();
}
