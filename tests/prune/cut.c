/* Cutting a model: what is left computes what it computed before. */
#include "base/dir.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/forward.h"
#include "prune/cut.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { T = 24 };

static struct pool *pool;
static uint32_t ids[T], first[T];
static const struct rows rows = { 1, T, ids, first };

static void
open_model(struct model *m, const char *path)
{
    struct err e;

    if (model_open(m, path, &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    for (size_t t = 0; t < T; t++) {
        ids[t] = (uint32_t)((t * t * 5 + 3) % m->c.V);
        first[t] = t < 10 ? 0 : t < 20 ? 10 : UINT32_MAX;
    }
}

/* Logits after the listed blocks of m; flags[i] [mlp] or NULL. */
static float *
logits(const struct model *m, const size_t *block, size_t n,
    const float *const *flags)
{
    struct fwd *f = fwd_new(m, pool, 1, T);
    float *x = xcalloc(T * m->c.d, sizeof *x);
    float *z = xcalloc(T * m->c.V, sizeof *z);

    fwd_embed(f, &rows, x);
    for (size_t i = 0; i < n; i++) {
        const struct fwd_part p = { .chan = flags != NULL ? flags[i] : NULL };

        fwd_block_part(f, block[i], &rows, x, x, &p);
    }
    fwd_norm(f, &rows, x, x);
    fwd_head(f, x, T, z);
    free(x);
    fwd_free(f);
    return z;
}

/* Of the first block. */
static size_t
block_params(const struct model *m)
{
    size_t n = 0;

    for (size_t k = 0; k < W_N; k++)
        n += m->block[0].w[k].rows * m->block[0].w[k].cols;
    return n;
}

static const size_t order[] = { 0, 1, 2, 3, 4, 5, 6, 7 };

static double
worst(const float *a, const float *b, size_t n)
{
    double w = 0.0;

    for (size_t i = 0; i < n; i++) {
        const double e = fabs((double)a[i] - b[i]);

        w = e <= w ? w : isnan(e) ? INFINITY : e;
    }
    return w;
}

/* Keep all, drop block `gone`, then drop channels of what is left. */
static void
test_cut(const char *path, size_t gone)
{
    struct model m, all, less, thin;
    struct arena a1, a2, a3;
    struct keep keep[8];
    size_t left[8], chan[512], n = 0;
    float *z, *y, *flag;

    open_model(&m, path);
    for (size_t i = 0; i < m.c.L; i++)
        keep[i] = (struct keep){ .block = i };
    model_cut(&all, &m, keep, m.c.L, &a1);
    z = logits(&m, order, m.c.L, NULL);
    y = logits(&all, order, m.c.L, NULL);
    ok(memcmp(z, y, T * m.c.V * sizeof *z) == 0 &&
            model_params(&all) == model_params(&m),
        "%s: keeping everything changes no bit", path);
    free(z);
    free(y);

    for (size_t i = 0; i < m.c.L; i++)
        if (i != gone) {
            left[n] = i;
            keep[n++] = (struct keep){ .block = i };
        }
    model_cut(&less, &m, keep, n, &a2);
    z = logits(&m, left, n, NULL);
    y = logits(&less, order, n, NULL);
    ok(less.c.L == n && memcmp(z, y, T * m.c.V * sizeof *z) == 0,
        "without block %zu: the others as before", gone);
    free(z);
    free(y);
    for (size_t i = 0; i < n; i++)
        ok(less.block[i].source == m.block[left[i]].source,
            "block %zu knows where it is from", i);

    /* Cut the cut: every third channel goes, then the first block. */
    keep[0] = (struct keep){ .block = n - 1, .chan = chan };
    for (size_t c = 0; c < less.block[n - 1].mlp; c++)
        if (c % 3 != 1)
            chan[keep[0].n++] = c;
    model_cut(&thin, &less, keep, 1, &a3);
    flag = xcalloc(less.block[n - 1].mlp, sizeof(float));
    for (size_t c = 0; c < keep[0].n; c++)
        flag[chan[c]] = 1.0f;
    z = logits(&m, &left[n - 1], 1, (const float *const *)&flag);
    y = logits(&thin, order, 1, NULL);
    ok(worst(z, y, T * m.c.V) <= 2e-6,
        "channels cut = channels zeroed (off by %.2g)", worst(z, y, T * m.c.V));
    memset(flag, 0, less.block[n - 1].mlp * sizeof(float));
    free(z);
    z = logits(&m, &left[n - 1], 1, (const float *const *)&flag);
    ok(worst(z, y, T * m.c.V) > 1e-3, "... and they matter");
    ok(thin.block[0].source == m.block[left[n - 1]].source &&
            thin.c.mlp == keep[0].n && thin.c.L == 1,
        "sources compose");
    ok(model_params(&less) - model_params(&thin) ==
            (n - 1) * block_params(&less) +
                3 * m.c.d * (less.block[n - 1].mlp - keep[0].n),
        "parameters are counted");
    free(z);
    free(y);
    free(flag);
    model_cut_free(&thin, &a3);
    model_cut_free(&less, &a2);
    model_cut_free(&all, &a1);
    model_close(&m);
}

/* Export of a cut model: the file is the model. */
static void
test_export(const char *path)
{
    const char *scratch = getenv("RETORT_SCRATCH");
    char *dir = xasprintf("%s/prune-export", scratch ? scratch : "/tmp");
    struct model m, cut, back;
    struct keep keep[2] = { { .block = 0 }, { .block = 2 } };
    size_t chan[8] = { 0, 2, 3, 5, 7, 11, 13, 17 };
    struct arena a;
    struct err e;
    float *z, *y;

    open_model(&m, path);
    keep[1].chan = chan;
    keep[1].n = 8;
    model_cut(&cut, &m, keep, 2, &a);
    dir_remove(dir, NULL);
    ok(model_export(&cut, dir, DT_F32, NULL, &e) == 0, "export");
    open_model(&back, dir);
    z = logits(&cut, order, 2, NULL);
    y = logits(&back, order, 2, NULL);
    ok(memcmp(z, y, T * m.c.V * sizeof *z) == 0, "the same logits");
    ok(back.block[1].mlp == 8 && back.c.mlp == m.block[0].mlp &&
            back.block[1].source == 2 &&
            model_params(&back) == model_params(&cut),
        "widths, sources and parameters survive");
    free(z);
    free(y);
    model_close(&back);
    model_cut_free(&cut, &a);
    model_close(&m);
    dir_remove(dir, NULL);
    free(dir);
}

int
main(void)
{
    pool = pool_new(2, NULL);
    test_cut("tests/golden/grad/tied-teacher", 1);
    test_cut("tests/golden/grad/untied-teacher", 0);
    test_cut("tests/golden/grad/tied-student", 0);
    test_cut("tests/golden/gguf/q4_1.gguf", 0);
    test_cut("tests/golden/gguf/bf16.gguf", 1);
    test_cut("tests/golden/family/mistral", 0);
    test_cut("tests/golden/family/qwen2", 0);
    test_cut("tests/golden/family/qwen3", 0);
    test_cut("tests/golden/family/gemma3", 1);
    test_export("tests/golden/grad/tied-teacher");
    pool_free(pool);
    return done_testing();
}
