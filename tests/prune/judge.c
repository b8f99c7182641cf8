/* Scores of a choice are those of the cut model, and a walk may start from any
 * cached input without a change of bits. */
#include "base/mem.h"
#include "kern/kern.h"
#include "prune/cut_model.h"
#include "prune/judge.h"
#include "../lib/choice_whole.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>

enum { R = 5, T = 40, ROW0 = 33 }; /* ROW0: tokens of row 0 without padding */

static uint32_t ids[R * T], first[R * T], target[R * T];
static size_t at[R * T];
static double weight[R], token_weight[R];
static struct calib calib = { .R = R,
    .T = T,
    .ids = ids,
    .first = first,
    .at = at,
    .target = target,
    .weight = weight,
    .token_weight = token_weight };

static void
set_calib(const struct model *m)
{
    calib.n = calib.ntok = 0;
    for (size_t t = 0; t < R * T; t++) {
        const int pad = t % T >= ROW0 && t / T != 2;

        ids[t] = (uint32_t)((t * t * 5 + t / T + 3) % m->c.V);
        first[t] = pad ? UINT32_MAX : t % T < 10 ? 0 : 10;
        calib.ntok += !pad;
        weight[t / T] = token_weight[t / T] = 1.0;
    }
    for (size_t t = 0; t < R * T; t++)
        if (t % T + 1 < T && first[t + 1] == first[t] &&
            first[t] != UINT32_MAX) {
            at[calib.n] = t;
            target[calib.n++] = ids[t + 1];
        }
}

/* All blocks but `gone`.  In turn they keep one group, no group, no channel, or
 * every third channel; if `empty` is 0, every third channel instead of none. */
static void
make_choice(struct choice *c, const struct model *m, size_t gone, int empty)
{
    choice_whole(c, m);
    for (size_t i = 0; i < c->n; i++) {
        struct choice_block *b = &c->b[i];
        const size_t groups = m->block[i].groups, n = m->block[i].mlp;
        size_t *list = xcalloc(n, sizeof(*list)), k = 0;

        if (i % 4 == 0) {
            list[0] = groups - 1;
            choice_set_groups(b, list, 1, groups);
        } else if (i % 4 == 1 && empty) {
            choice_set_groups(b, list, 0, groups);
        } else if (i % 4 == 2 && empty) {
            choice_set_channels(b, list, 0, n);
        } else {
            for (size_t j = 1; j < n; j += 3)
                list[k++] = j;
            choice_set_channels(b, list, k, n);
        }
    }
    free(c->b[gone].group);
    free(c->b[gone].chan);
    memmove(c->b + gone, c->b + gone + 1, (--c->n - gone) * sizeof(*c->b));
}

static double
off(const struct row_score *a, const struct row_score *b)
{
    double worst = 0.0;

    for (size_t r = 0; r < R; r++) {
        worst = farther(worst, fabs(a[r].nll - b[r].nll));
        worst = farther(worst, fabs(a[r].kl - b[r].kl));
    }
    return worst;
}

static void
test_model(const char *path, int keep)
{
    const char *how = keep ? "kept logits" : "no logits";
    struct pool *pool = pool_new(2, NULL);
    struct model m, small;
    struct arena mem;
    struct judge j;
    struct choice all, some, other;
    struct row_score whole[R], a[R], b[R], c[R];
    struct err e;

    if (pool == NULL || model_open(&m, path, &e) < 0) {
        printf("Bail out! %s\n", path);
        exit(1);
    }
    set_calib(&m);
    judge_init(&j, &m, &calib, pool);
    if (keep)
        judge_keep_logits(&j);
    choice_whole(&all, &m);
    make_choice(&some, &m, m.c.L - 1, 1);
    make_choice(&other, &m, 0, 1);
    judge_set(&j, &all, 1);
    judge_rows(&j, &all, 0, R, whole);
    ok(off(whole, whole) <= 0.0 && whole[0].kl <= 1e-9 && whole[0].nll > 1.0,
        "%s, %s: the whole model has a KL of 0", path, how);

    judge_rows(&j, &some, 0, R, a);
    model_cut(&small, &m, &some, &mem);
    judge_model(&j, &small, b);
    ok(off(a, b) <= 1e-4,
        "%s, %s: a choice is scored as the cut model is (off by %.2g)", path,
        how, off(a, b));
    ok(off(a, whole) > 1e-2, "%s, %s: a choice scores otherwise than the whole",
        path, how);
    model_cut_free(&small, &mem);

    /* from caches of other choices, row by row, from the start */
    judge_set(&j, &other, 0);
    judge_rows(&j, &some, 0, R, b);
    ok(memcmp(a, b, sizeof(a)) == 0,
        "%s, %s: a choice has the same bits after another one", path, how);
    judge_set(&j, &some, 0);
    judge_rows(&j, &some, 0, 2, b);
    judge_rows(&j, &some, 2, R, b + 2);
    ok(memcmp(a, b, sizeof(a)) == 0,
        "%s, %s: a cached choice has the same bits in two parts", path, how);
    judge_rows(&j, &other, 0, R, b);
    judge_set(&j, &all, 0);
    judge_rows(&j, &other, 0, R, c);
    ok(memcmp(c, b, sizeof(c)) == 0,
        "%s, %s: a walk from the first block gives the same bits", path, how);
    ok(off(a, b) > 1e-3, "%s, %s: two choices score otherwise", path, how);
    choice_release(&all);
    choice_release(&some);
    choice_release(&other);
    judge_release(&j);
    model_close(&m);
    pool_free(pool);
}

/* The energy of a channel is what it adds to the stream. */
static void
test_energy(const char *path)
{
    struct pool *pool = pool_new(2, NULL);
    struct model m;
    struct judge j;
    struct choice all;
    struct err e;
    float *x, *y, *z, *chan, *group;
    double sum = 0.0;
    struct rows rows = { R, T, ids, first };

    if (model_open(&m, path, &e) < 0) {
        printf("Bail out! %s\n", path);
        exit(1);
    }
    set_calib(&m);
    judge_init(&j, &m, &calib, pool);
    choice_whole(&all, &m);
    judge_set(&j, &all, 1);
    /* the energy of channel 5 of block 0: what the block's output loses */
    chan = xcalloc(m.block[0].mlp, sizeof(*chan));
    group = xcalloc(m.c.KV, sizeof(*group));
    for (size_t i = 0; i < m.block[0].mlp; i++)
        chan[i] = i != 5;
    x = xcalloc(R * T * m.c.d, sizeof(*x));
    y = xcalloc(R * T * m.c.d, sizeof(*y));
    z = xcalloc(R * T * m.c.d, sizeof(*z));
    fwd_free(j.f);
    j.f = fwd_new(&m, pool, R, T);
    fwd_embed(j.f, &rows, x);
    fwd_block(j.f, 0, &rows, x, y);
    fwd_block_part(j.f, 0, &rows, x, z, &(struct fwd_part){ .chan = chan });
    for (size_t i = 0; i < R * T * m.c.d; i++)
        sum += ((double)y[i] - z[i]) * ((double)y[i] - z[i]);
    ok(near(j.at[0].chan[5], sum, 0.0, 1e-4) && sum > 0.0,
        "the energy of a channel is what it adds (%.6g, %.6g)", j.at[0].chan[5],
        sum);
    free(x);
    free(y);
    free(z);
    free(chan);
    free(group);
    choice_release(&all);
    judge_release(&j);
    model_close(&m);
    pool_free(pool);
}

/* The largest distance of a [n] from f times b [n], relative to f times b. */
static double
off_share(const double *a, const double *b, double f, size_t n)
{
    double worst = 0.0;

    for (size_t i = 0; i < n; i++)
        worst = farther(worst, fabs(a[i] - f * b[i]) / (1e-9 + f * b[i]));
    return worst;
}

/* Rows of weight 0 do not change any measurement. */
static void
test_weights(const char *path)
{
    struct pool *pool = pool_new(2, NULL);
    struct model m;
    struct judge j[2];
    struct choice all;
    struct err e;
    double f = 1.0; /* tokens of all rows / tokens of row 0 */

    if (model_open(&m, path, &e) < 0) {
        printf("Bail out! %s\n", path);
        exit(1);
    }
    choice_whole(&all, &m);
    for (size_t k = 0; k < 2; k++) {
        set_calib(&m);
        if (k == 0) {
            f = (double)calib.ntok / ROW0;
            for (size_t r = 0; r < R; r++)
                token_weight[r] = r == 0 ? f : 0.0;
        } else {
            calib.n = calib_scored(&calib, 1);
            calib.R = 1;
            calib.ntok = ROW0;
        }
        judge_init(&j[k], &m, &calib, pool);
        judge_set(&j[k], &all, 1);
    }
    for (size_t i = 0; i < m.c.L; i++) {
        const struct measured *a = &j[0].at[i], *b = &j[1].at[i];

        ok(off_share(&a->influence, &b->influence, 1.0, 1) < 1e-9 &&
                off_share(&a->attn, &b->attn, 1.0, 1) < 1e-9 &&
                off_share(&a->mlp, &b->mlp, 1.0, 1) < 1e-9,
            "block %zu: rows of weight 0 have no influence", i);
        ok(off_share(a->o, b->o, f, m.block[i].w[W_O].cols) < 1e-9 &&
                off_share(a->chan, b->chan, f, m.block[i].mlp) < 1e-9 &&
                off_share(&a->before_o, &b->before_o, f, 1) < 1e-9 &&
                off_share(&a->before_mlp, &b->before_mlp, f, 1) < 1e-9,
            "block %zu: rows of weight 0 have no energy", i);
    }
    for (size_t k = 0; k < 2; k++)
        judge_release(&j[k]);
    calib.R = R;
    choice_release(&all);
    model_close(&m);
    pool_free(pool);
}

int
main(void)
{
    if (kern_init() != NULL) {
        printf("Bail out! no kernels\n");
        return 1;
    }
    test_model("tests/golden/family/gemma3", 0);
    test_model("tests/golden/family/gemma3", 1);
    test_model("tests/golden/family/qwen3", 1);
    test_model("tests/golden/family/cohere2", 1);
    test_model("tests/golden/grad/tied-teacher", 0);
    test_energy("tests/golden/grad/tied-teacher");
    test_weights("tests/golden/grad/tied-teacher");
    return done_testing();
}
