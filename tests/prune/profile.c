/* Profiles against transformers' hooks in double, plain sums, and the sum of
 * profiles of parts. */
#include "prune/judge.h"
#include "prune/profile_grad.h"
#include "prune/profile_merge.h"
#include "prune/profile_walk.h"
#include "prune/profile_write.h"
#include "base/rng.h"
#include "cli/die.h"
#include "format/ckpt.h"
#include "kern/kern.h"
#include "../lib/choice_whole.h"
#include "../lib/golden.h"
#include "../lib/tap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FAMILY "tests/golden/family/gemma3"

static struct pool *pool;
static struct model m;
static struct golden want, slopes; /* scripts/oracle/activations.py */

enum { STATS = 9, MOST = 400 }; /* MOST: tokens */

/* Profile rows [R,T] of c into folder `dir`, which is opened again. */
static void
make(struct profile *p, const struct calib *c, const char *dir)
{
    const struct walk_opt o = { 1, SIZE_MAX, PROFILE_OFF_F32 };
    const struct profile_about a = { "model", "hash", "f32", NULL, 1, 1 };
    struct profile_sums s;
    struct err e;

    mkdir(dir, 0777);
    profile_walk(&s, &m, c, pool, &o, dir);
    gradients_walk(&s, &m, c, pool);
    if (profile_write(&s, &a, dir, &e) < 0 ||
        profile_open(p, dir, NULL, &e) < 0)
        die_err(&e);
    profile_sums_release(&s);
}

/* The numbers of the table at DIR/name in order, without its first `skip`
 * columns. */
static double *
table(const char *dir, const char *name, size_t skip, size_t *n)
{
    char *path = xasprintf("%s/%s", dir, name), line[1000];
    FILE *f = fopen(path, "r");
    double *v = NULL;
    size_t cap = 0;

    *n = 0;
    if (f == NULL || fgets(line, sizeof line, f) == NULL)
        die(EX_SYS, "%s:", path);
    while (fgets(line, sizeof line, f) != NULL) {
        char *at = strtok(line, "\t");

        for (size_t k = 0; at != NULL; k++, at = strtok(NULL, "\t")) {
            if (k < skip)
                continue;
            v = xgrow(v, *n, &cap, sizeof *v);
            v[(*n)++] = atof(at);
        }
    }
    fclose(f);
    free(path);
    return v;
}

/* The largest distance of h from g [n,n], in units of sqrt(g_ii g_jj). */
static double
hessian_off(const float *h, const double *g, size_t n)
{
    double most = 0.0;

    for (size_t i = 0; i < n * n; i++)
        most = farther(most,
            fabs(h[i] - g[i]) /
                (sqrt(g[i / n * (n + 1)] * g[i % n * (n + 1)]) + 1e-30));
    return most;
}

/* Set c to R rows of T tokens.  Every token is scored but the first token of
 * each piece, which no token of its piece predicts. */
static void
calib_of(struct calib *c, const uint32_t *ids, const uint32_t *first, size_t R,
    size_t T)
{
    *c = (struct calib){ .R = R,
        .T = T,
        .ids = (uint32_t *)(uintptr_t)ids,
        .first = (uint32_t *)(uintptr_t)first };
    static size_t at[MOST];
    static uint32_t target[MOST];
    static double weight[MOST];

    c->token_weight = weight;
    for (size_t r = 0; r < R; r++)
        weight[r] = 1.0;
    c->at = at;
    c->target = target;
    for (size_t t = 0; t < R * T; t++) {
        c->ntok += first[t] != UINT32_MAX;
        if (first[t] == UINT32_MAX || (t + 1) % T == 0 ||
            first[t + 1] != first[t])
            continue;
        at[c->n] = t;
        target[c->n++] = ids[t + 1];
    }
}

/* ---- against transformers ---- */

/* Compare channels.tsv with the goldens line by line, from mean_abs to
 * outliers. */
static void
test_channels(const struct profile *p)
{
    static const char *const name[STATS] = { "mean_abs", "mean_sq", "max",
        "kurtosis", "q50", "q90", "q99", "q999", "outliers" };
    size_t n, at = 0;
    double *got = table(p->dir, "channels.tsv", 5, &n), off[STATS] = { 0 };

    for (size_t i = 0; i < p->L * FWD_INPUTS; i++) {
        const size_t block = i / FWD_INPUTS;
        const int input = i % FWD_INPUTS;
        const size_t w = profile_width(p, block, input);
        char key[64];
        const struct st_tensor *t;

        snprintf(key, sizeof key, "%zu.%s.stats", block, profile_inputs[input]);
        t = golden_get(&want, key);
        for (size_t c = 0; c < w; c++)
            for (size_t k = 0; k < CLASSES * STATS; k++, at++) {
                const double v = golden_at(t, k * w + c);

                off[k % STATS] = farther(off[k % STATS],
                    at < n ? fabs(got[at] - v) /
                            (k % STATS == STATS - 1 ? 1.0 : fabs(v) + 1e-9)
                           : NAN);
            }
    }
    ok(at == n, "%zu numbers of channels", n);
    for (size_t k = 0; k < STATS; k++)
        ok(off[k] <= (k == 3                   ? 2e-5
                             : k >= 4 && k < 8 ? 1.0 / 17 + 1e-5
                                               : 1e-5),
            "%s: as of transformers (%.2g)", name[k], off[k]);
    free(got);
}

/* Compare each channel's sum of gradients with the golden one, relative to the
 * largest sum of the same input's channels. */
static void
test_gradients(const struct profile *p)
{
    double off = 0.0;

    for (size_t i = 0; i < p->L * FWD_INPUTS; i++) {
        const int input = i % FWD_INPUTS;
        const size_t w = profile_width(p, i / FWD_INPUTS, input);
        double *got = xcalloc(w, sizeof *got), top = 1e-30;
        const struct st_tensor *t;
        char key[64];

        snprintf(key, sizeof key, "%zu.%s", i / FWD_INPUTS,
            profile_inputs[input]);
        t = golden_get(&slopes, key);
        if (t->n != w || profile_gradient(p, i / FWD_INPUTS, input, got) < 0)
            off = NAN;
        for (size_t c = 0; c < w; c++)
            top = fmax(top, golden_at(t, c));
        for (size_t c = 0; c < w; c++)
            off = farther(off, fabs(got[c] - golden_at(t, c)) / top);
        free(got);
    }
    ok(off <= 1e-5, "gradients: as of PyTorch (%.2g)", off);
}

static void
test_golden(void)
{
    static uint32_t ids[40], first[40];
    size_t n;
    struct golden g;
    struct calib c;
    struct profile p;
    struct judge j;
    struct choice all;
    double *got, off = 0.0, same = 0.0;
    struct err e;

    golden_open(&g, FAMILY ".safetensors");
    for (size_t t = 0; t < 40; t++)
        ids[t] = st_u16(golden_get(&g, "ids"), t);
    memcpy(first, golden_get(&g, "first")->data, sizeof first);
    golden_close(&g);
    calib_of(&c, ids, first, 2, 20);
    make(&p, &c, "whole");
    for (size_t i = 0; i < p.L * FWD_INPUTS; i++) {
        const int input = i % FWD_INPUTS;
        char key[64];

        snprintf(key, sizeof key, "%zu.%s", i / FWD_INPUTS,
            profile_inputs[input]);
        off = farther(off,
            hessian_off(profile_hessian(&p, i / FWD_INPUTS, input, &e),
                golden_get(&want, key)->data,
                profile_width(&p, i / FWD_INPUTS, input)));
    }
    ok(off <= 1e-5, "Hessians: as of transformers (%.2g)", off);
    test_channels(&p);

    got = table("whole", "blocks.tsv", 1, &n);
    ok(n == m.c.L * 2 * TURNS, "a line a block");
    off = 0.0;
    for (size_t i = 0; i < n; i++) {
        char key[64];

        snprintf(key, sizeof key, "%zu.block", i / (2 * TURNS));
        off = farther(off,
            fabs(got[i] / golden_at(golden_get(&want, key), i % (2 * TURNS)) -
                1.0));
    }
    ok(off <= 1e-5, "blocks: as of transformers (%.2g)", off);

    test_gradients(&p);

    /* The influence that the search ranks blocks by is the same. */
    choice_whole(&all, &m);
    judge_init(&j, &m, &c, pool);
    judge_set(&j, &all, 1);
    for (size_t i = 0; i < m.c.L; i++)
        same = farther(same, fabs(got[i * 2 * TURNS] - j.at[i].influence));
    ok(same <= 1e-8, "influence is that of the search (%.2g)", same);
    judge_release(&j);
    choice_release(&all);
    free(got);
    profile_close(&p);
}

/* ---- sums of parts ---- */

enum { R = 5, T = 70 };

/* The largest relative difference of the numbers of two tables. */
static double
tables_off(const char *a, const char *b, const char *name, size_t skip)
{
    size_t n, k;
    double *x = table(a, name, skip, &n), *y = table(b, name, skip, &k);
    double most = n == k ? 0.0 : NAN;

    for (size_t i = 0; i < n && n == k; i++)
        most = farther(most, fabs(x[i] - y[i]) / (fabs(y[i]) + 1e-9));
    free(x);
    free(y);
    return most;
}

static void
test_parts(const uint32_t *ids, const uint32_t *first,
    const struct profile *whole, const size_t *rows, size_t parts)
{
    struct profile part[R], sum;
    double off = 0.0;
    struct err e;
    char *dir;

    for (size_t i = 0, at = 0; i < parts; at += rows[i++]) {
        struct calib c;

        calib_of(&c, ids + at * T, first + at * T, rows[i], T);
        dir = xasprintf("part-%zu-of-%zu", i, parts);
        make(&part[i], &c, dir);
        free(dir);
    }
    dir = xasprintf("sum-of-%zu", parts);
    mkdir(dir, 0777);
    if (profile_merge(part, parts, dir, &e) < 0 ||
        profile_open(&sum, dir, NULL, &e) < 0)
        die_err(&e);
    ok(tables_off(dir, "all", "channels.tsv", 4) <= 1e-6 &&
            tables_off(dir, "all", "blocks.tsv", 0) <= 1e-6 &&
            tables_off(dir, "all", "gradients.tsv", 3) <= 1e-6,
        "%zu parts add up to the whole's tables", parts);
    for (size_t i = 0; i < whole->L * FWD_INPUTS; i++) {
        const int input = i % FWD_INPUTS;
        const size_t n = profile_width(whole, i / FWD_INPUTS, input);
        const float *h = profile_hessian(whole, i / FWD_INPUTS, input, &e);
        double *v = xcalloc(n * n, sizeof *v);

        for (size_t k = 0; k < n * n; k++)
            v[k] = h[k];
        off = farther(off,
            hessian_off(profile_hessian(&sum, i / FWD_INPUTS, input, &e), v,
                n));
        free(v);
    }
    ok(off <= 1e-6, "... and to its Hessians (%.2g)", off);
    for (size_t i = 0; i < parts; i++)
        profile_close(&part[i]);
    profile_close(&sum);
    free(dir);
}

static void
test_merge(void)
{
    static uint32_t ids[R * T], first[R * T];
    struct profile whole;
    struct calib c;

    for (size_t k = 0; k < R * T; k++) {
        const uint32_t t = k % T, cut = 10 + 7 * (uint32_t)(k / T);

        ids[k] = (uint32_t)(rng_u64(1, k) % m.c.V);
        first[k] = t < cut ? 0 : t >= 60 && k / T % 2 == 0 ? UINT32_MAX : cut;
    }
    calib_of(&c, ids, first, R, T);
    make(&whole, &c, "all");
    ok(whole.tokens[CLASS_FIRST] == 10 &&
            whole.tokens[CLASS_REST] == c.ntok - 10,
        "two pieces a row");
    test_parts(ids, first, &whole, (const size_t[]){ 5 }, 1);
    test_parts(ids, first, &whole, (const size_t[]){ 2, 3 }, 2);
    test_parts(ids, first, &whole, (const size_t[]){ 1, 1, 1, 1, 1 }, 5);
    profile_close(&whole);
}

/* ---- the sketch ---- */

static int
by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return x < y ? -1 : x > y;
}

/* Quantiles of one channel of values of all sizes, zero among them, against
 * the sorted values. */
static void
test_quantiles(void)
{
    enum { N = 5000 };
    static float sorted[N];
    static uint32_t first[N];
    const struct rows r = { 1, N, NULL, first };
    struct fwd_tapped t = { 0, FWD_O, &r, N, 1, 1, NULL, NULL };
    struct input_sums s;
    float *v = xcalloc(N + 64, sizeof *v);
    double most = 0.0;

    for (size_t i = 0; i < N; i++) {
        v[i] = i % 50 == 7
            ? 0.0f
            : (float)((rng_unit(3, i) - 0.5) * exp(4.0 * rng_normal(4, i)));
        sorted[i] = fabsf(v[i]);
        first[i] = N; /* none is the first of its piece */
    }
    qsort(sorted, N, sizeof *sorted, by_value);
    t.x = v;
    sums_init(&s, 1);
    sums_tap(&s, pool, &t);
    sums_trim(&s);
    for (size_t k = 0; k <= 1000; k++) {
        const double q = (double)k / 1000, rank = fmax(1.0, ceil(q * N));
        const double at = sorted[(size_t)rank - 1];

        most = farther(most,
            fabs(sums_quantile(&s, CLASS_REST, 0, N, q) - at) / (at + 1e-7));
    }
    ok(most <= 1.0 / 17 + 1e-5, "1001 quantiles (%.3g)", most);
    sums_release(&s);
    free(v);
}

/* With a file as argument, print its hash, for shell tests. */
int
main(int argc, char **argv)
{
    char hex[33];
    struct err e;

    if (argc > 1) {
        if (ckpt_hash(argv[1], hex, &e) < 0)
            die_err(&e);
        puts(hex);
        return 0;
    }
    tap_scratch();
    pool = pool_new(2, &e);
    if (kern_init() != NULL || pool == NULL || model_open(&m, FAMILY, &e) < 0) {
        printf("Bail out! the golden model cannot be read\n");
        return 1;
    }
    golden_open(&want, "tests/golden/profile.safetensors");
    golden_open(&slopes, "tests/golden/gradients.safetensors");
    test_golden();
    test_merge();
    test_quantiles();
    golden_close(&want);
    golden_close(&slopes);
    model_close(&m);
    pool_free(pool);
    return done_testing();
}
