/*
 * Finding a teacher's top tokens and draws.  Top tokens are compared with
 * PyTorch in double precision (scripts/oracle/top.py) and with sorting, draws
 * with the probabilities.
 */
#include "../lib/golden.h"
#include "../lib/sorted.h"
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "model/pass/forward.h"
#include "model/pass/head_top.h"

#include <math.h>

#define DIR "tests/golden/grad/"

/* A model that is only a head of the identity: logits are states. */
static float *
only_head(struct model *m, size_t V)
{
    float *eye = xcalloc(V * V, sizeof(float));

    memset(m, 0, sizeof(*m));
    snprintf(m->c.arch, sizeof m->c.arch, "llama");
    m->c.V = m->c.d = V;
    m->c.H = m->c.KV = 1;
    m->c.D = 2;
    for (size_t i = 0; i < V; i++)
        eye[i * V + i] = 1.0f;
    m->head = (struct weight){ .data = (const void *)eye,
        .dtype = DT_F32,
        .rows = V,
        .cols = V,
        .stride = V * sizeof(float) };
    m->embed = m->norm = m->head;
    m->norm.rows = 1;
    return eye;
}

/* Draws with every u of a grid: the mean of their shares is the probability,
 * and each share is off by less than one draw.  They have the same bits with 3
 * threads, one row at a time, and drawn together with top tokens. */
static void
draw_rows(const char *set, size_t V, size_t draws)
{
    enum { N = 64 };
    struct model m;
    float *eye = only_head(&m, V), lse[2 * N], logp[N];
    float *z = xreallocarray(NULL, N * V, sizeof(float));
    double *p = xcalloc(V, sizeof(*p)), *sum = xcalloc(V, sizeof(*sum));
    double u[N], self[N], all = 0.0, off = 0.0, mean = 0.0;
    uint32_t *ids[2], top[N];
    uint16_t *count[2];
    size_t bad = 0;

    fill(z, V, 12.0, 77);
    for (size_t r = 0; r < N; r++) {
        memmove(z + r * V, z, V * sizeof(float));
        u[r] = ((double)r + 0.5) / N;
    }
    u[0] = 0.0;
    u[N - 1] = 1.0 - 0x1p-53;
    for (size_t v = 0; v < V; v++)
        all += p[v] = exp(z[v] / 3.0);
    for (size_t t = 0; t < 2; t++) {
        struct pool *pool = pool_new(t == 0 ? 1 : 3, NULL);
        struct fwd *f = fwd_new(&m, pool, 1, 1);
        struct head_top *h = head_top_new(&m, pool, t, draws);

        ids[t] = xreallocarray(NULL, N * draws, sizeof(**ids));
        count[t] = xreallocarray(NULL, N * draws, sizeof(**count));
        for (size_t r = 0; r < N; r += t == 0 ? N : 1)
            head_top_rows(h, f, z + r * V, t == 0 ? N : 1, 3.0,
                &(struct head_targets){ .lse = lse,
                    .self = self,
                    .ids = top,
                    .logp = logp,
                    .drawn = ids[t] + r * draws,
                    .count = count[t] + r * draws,
                    .u = u + r });
        head_top_free(h);
        fwd_free(f);
        pool_free(pool);
    }
    ok(memcmp(ids[0], ids[1], N * draws * sizeof(**ids)) == 0 &&
            memcmp(count[0], count[1], N * draws * sizeof(**count)) == 0,
        "%s: %zu draws of %zu are the same by 3 threads, alone", set, draws, V);
    for (size_t r = 0; r < N; r++) {
        size_t n = 0, j = 0;

        for (; j < draws && count[0][r * draws + j] > 0; j++) {
            const uint32_t id = ids[0][r * draws + j];
            const double c = count[0][r * draws + j];

            bad += id >= V || (j > 0 && id <= ids[0][r * draws + j - 1]);
            off = farther(off, fabs(c - (double)draws * p[id % V] / all));
            sum[id % V] += c;
            n += count[0][r * draws + j];
        }
        for (; j < draws; j++)
            bad += count[0][r * draws + j] != 0 || ids[0][r * draws + j] != 0;
        bad += n != draws;
    }
    ok(bad == 0, "%s: %zu draws of %zu rise by id", set, draws, V);
    ok(off <= 1.0 + 1e-3,
        "%s: %zu draws of %zu are off by less than one each (%.4g)", set, draws,
        V, off);
    for (size_t v = 0; v < V; v++)
        mean = fmax(mean, fabs(sum[v] / N - (double)draws * p[v] / all));
    ok(mean <= 1.6 / N, "%s: %zu draws of %zu are right on average (%.3g off)",
        set, draws, V, mean);
    for (size_t t = 0; t < 2; t++) {
        free(ids[t]);
        free(count[t]);
    }
    free(eye);
    free(z);
    free(p);
    free(sum);
}

/* The most probable tokens are those that sorting gives. */
static void
find_plain(const char *set, size_t V, const size_t *ks, size_t nk)
{
    enum { N = 131 };
    struct model m;
    float *eye = only_head(&m, V);
    float *z = xreallocarray(NULL, N * V, sizeof(float));

    fill(z, N * V, 8.0, 31);
    /* row 0: many equal logits; row 1: zeros of both signs; row 2: all equal */
    for (size_t v = 0; v < V; v++) {
        z[v] = (float)(v * 7 % 5);
        z[V + v] = v % 3 == 0 ? -0.0f : v % 3 == 1 ? 0.0f : -1.0f;
        z[2 * V + v] = -3.0f;
    }
    for (size_t i = 0; i < nk; i++) {
        const size_t k = ks[i];
        uint32_t *ids = xreallocarray(NULL, N * k, sizeof(*ids));
        float *logp = xreallocarray(NULL, N * k, sizeof(float)), lse[N * 2];
        double self[N], off = 0.0, offself = 0.0;
        size_t differ = 0;
        struct sorted s;

        say(&s, z, N, V, k, 3.0);
        for (size_t threads = 1; threads <= 3; threads += 2) {
            struct pool *pool = pool_new(threads, NULL);
            struct fwd *f = fwd_new(&m, pool, 1, 1);
            struct head_top *t = head_top_new(&m, pool, k, 0);
            struct head_targets targets = { .lse = lse,
                .self = self,
                .ids = ids,
                .logp = logp };

            /* a row's bits do not depend on other rows: the last row is alone
             * here */
            head_top_rows(t, f, z, threads == 1 ? N : N - 1, 3.0, &targets);
            targets = (struct head_targets){ .lse = lse + 2 * (N - 1),
                .self = self + N - 1,
                .ids = ids + (N - 1) * k,
                .logp = logp + (N - 1) * k };
            if (threads == 3)
                head_top_rows(t, f, z + (N - 1) * V, 1, 3.0, &targets);
            differ += memcmp(ids, s.ids, N * k * sizeof(*ids)) != 0;
            for (size_t r = 0; r < N * k; r++)
                off = farther(off, fabsf(logp[r] - s.logp[r]));
            for (size_t r = 0; r < 2 * N; r++)
                off = farther(off, fabsf(lse[r] - s.lse[r]));
            for (size_t r = 0; r < N; r++)
                offself = farther(offself, fabs(self[r] - s.self[r]));
            head_top_free(t);
            fwd_free(f);
            pool_free(pool);
        }
        ok(differ == 0, "%s: top %zu of %zu are those of sorting", set, k, V);
        ok(off <= 3e-6 && offself <= 1e-5,
            "%s: top %zu of %zu: log-probabilities and lse are off by %.2g, "
            "sum p log p by %.2g",
            set, k, V, off, offself);
        sorted_free(&s);
        free(ids);
        free(logp);
    }
    free(eye);
    free(z);
}

/* The most probable among every third id are those that sorting finds among
 * them; each prediction also gets the log-probability of an id of its own. */
static void
find_among(const char *set, size_t V)
{
    enum { N = 131, K = 5 };
    struct model m;
    float *eye = only_head(&m, V), lse[N * 2], logp[N * K], said[N];
    float *z = xreallocarray(NULL, N * V, sizeof(float));
    uint32_t *among = xreallocarray(NULL, V, sizeof(*among));
    uint32_t ids[N * K], next[N];
    double self[N], off = 0.0;
    size_t n = 0, differ = 0;
    struct pool *pool = pool_new(3, NULL);
    struct fwd *f = fwd_new(&m, pool, 1, 1);
    struct head_top *t = head_top_new(&m, pool, K, 0);
    struct sorted all;

    fill(z, N * V, 8.0, 53);
    for (size_t v = 1; v < V; v += 3)
        among[n++] = (uint32_t)v;
    for (size_t r = 0; r < N; r++)
        next[r] = (uint32_t)(r * 11 % V);
    say(&all, z, N, V, V, 1.0);
    head_top_among(t, among, n);
    head_top_rows(t, f, z, N, 1.0,
        &(struct head_targets){ .lse = lse,
            .self = self,
            .ids = ids,
            .logp = logp,
            .next = next,
            .next_logp = said });
    for (size_t r = 0; r < N; r++)
        for (size_t v = 0, j = 0; v < V; v++) {
            const uint32_t id = all.ids[r * V + v];
            const float want = all.logp[r * V + v];

            if (id == next[r])
                off = farther(off, fabsf(said[r] - want));
            if (id % 3 != 1 || j == K)
                continue;
            differ += among[ids[r * K + j]] != id;
            off = farther(off, fabsf(logp[r * K + j++] - want));
        }
    ok(differ == 0, "%s: the top of a third of %zu ids are those of sorting",
        set, V);
    ok(off <= 3e-6,
        "%s: their log-probabilities of %zu ids, and that of a "
        "named id, are off by %.2g",
        set, V, off);
    sorted_free(&all);
    head_top_free(t);
    fwd_free(f);
    pool_free(pool);
    free(eye);
    free(z);
    free(among);
}

/* Targets of predictions that are wanted do not depend on which others are; the
 * other predictions get those of equal logits. */
static void
find_wanted(const char *set, size_t V, unsigned every)
{
    enum { N = 700, K = 6, DRAWS = 9 };
    struct model m;
    float *eye = only_head(&m, V), lse[2][N * 2], logp[2][N * K];
    float *z = xreallocarray(NULL, N * V, sizeof(float));
    uint32_t ids[2][N * K], drawn[2][N * DRAWS];
    uint16_t count[2][N * DRAWS];
    uint8_t wanted[N];
    double self[2][N], u[N], off = 0.0;
    size_t differ = 0, not = 0;
    struct pool *pool = pool_new(2, NULL);
    struct fwd *f = fwd_new(&m, pool, 1, 1);
    struct head_top *t = head_top_new(&m, pool, K, DRAWS);

    fill(z, N * V, 8.0, 61);
    for (size_t i = 0; i < N; i++) {
        u[i] = (double)i / N;
        wanted[i] = i >= 10 && (i < 150 || i * 7 % every == 0);
    }
    for (size_t p = 0; p < 2; p++)
        head_top_rows(t, f, z, N, 2.0,
            &(struct head_targets){ .lse = lse[p],
                .self = self[p],
                .ids = ids[p],
                .logp = logp[p],
                .drawn = drawn[p],
                .count = count[p],
                .u = u,
                .wanted = p == 0 ? NULL : wanted });
    for (size_t i = 0; i < N; i++) {
        if (wanted[i]) {
            differ += memcmp(lse[0] + 2 * i, lse[1] + 2 * i, 8) != 0 ||
                memcmp(self[0] + i, self[1] + i, 8) != 0 ||
                memcmp(ids[0] + i * K, ids[1] + i * K, K * 4) != 0 ||
                memcmp(logp[0] + i * K, logp[1] + i * K, K * 4) != 0 ||
                memcmp(drawn[0] + i * DRAWS, drawn[1] + i * DRAWS, DRAWS * 4) !=
                    0 ||
                memcmp(count[0] + i * DRAWS, count[1] + i * DRAWS, DRAWS * 2) !=
                    0;
            continue;
        }
        for (size_t j = 0; j < K; j++) {
            not += ids[1][i * K + j] != j;
            off = farther(off, fabs(logp[1][i * K + j] + log((double)V)));
        }
        for (size_t j = 0; j < DRAWS; j++)
            not += drawn[1][i * DRAWS + j] != 0 || count[1][i * DRAWS + j] != 0;
        off = farther(off, fabs(lse[1][2 * i] - log((double)V)));
        off = farther(off, fabs(lse[1][2 * i + 1] - log((double)V)));
        off = farther(off, fabs(self[1][i] + log((double)V)));
    }
    ok(differ == 0, "%s: predictions that are wanted, of %zu, have their bits",
        set, V);
    ok(not == 0 && off <= 1e-6,
        "%s: predictions that are not, of %zu, are of equal logits", set, V);
    head_top_free(t);
    fwd_free(f);
    pool_free(pool);
    free(eye);
    free(z);
}

/* The golden teacher's top tokens are those that PyTorch finds. */
static void
find_golden(const char *set)
{
    struct golden g, top;
    struct model m;
    const struct st_tensor *final, *ids;
    struct pool *pool = pool_new(2, NULL);
    struct head_top *t;
    struct fwd *f;
    struct err e;
    uint32_t got[36 * 5];
    float *x, logp[36 * 5], lse[36 * 2];
    double self[36], off = 0.0;
    size_t differ = 0, seen = 0;

    golden_open(&g, DIR "tied.safetensors");
    golden_open(&top, DIR "top.safetensors");
    if (model_open(&m, DIR "tied-teacher", &e) < 0) {
        printf("Bail out! %s\n", e.msg);
        exit(1);
    }
    final = golden_get(&g, "teacher.final");
    ids = golden_get(&top, "top.ids");
    x = xreallocarray(NULL, final->n, sizeof(*x));
    for (size_t i = 0; i < final->n; i++)
        x[i] = (float)golden_at(final, i);
    f = fwd_new(&m, pool, 3, 12);
    t = head_top_new(&m, pool, 5, 0);
    head_top_rows(t, f, x, 36, 3.0,
        &(struct head_targets){ .lse = lse,
            .self = self,
            .ids = got,
            .logp = logp });
    for (size_t i = 0; i < 36; i++) {
        if (golden_at(golden_get(&top, "top.logp"), i * 5) ==
            golden_at(golden_get(&top, "top.logp"), i * 5 + 4))
            continue; /* padding: all alike */
        seen++;
        for (size_t j = 0; j < 5; j++) {
            differ += got[i * 5 + j] != st_u32(ids, i * 5 + j);
            off = farther(off,
                fabs(logp[i * 5 + j] -
                    golden_at(golden_get(&top, "top.logp"), i * 5 + j)));
        }
        for (size_t j = 0; j < 2; j++)
            off = farther(off,
                fabs(lse[i * 2 + j] -
                    golden_at(golden_get(&top, "top.lse"), i * 2 + j)));
    }
    ok(seen == 33 && differ == 0, "%s: the golden teacher's top 5", set);
    ok(off <= 1e-5, "%s: the golden teacher's numbers are off by %.2g", set,
        off);
    head_top_free(t);
    fwd_free(f);
    pool_free(pool);
    model_close(&m);
    free(x);
    golden_close(&g);
    golden_close(&top);
}

int
main(void)
{
    static const size_t few[] = { 1, 2, 5, 41, 70 };
    static const size_t many[] = { 1, 7, 19, 64, 1100 };

    for (size_t i = 0; i < KERN_SETS; i++) {
        if (!kern_sets_use(kern_sets[i]))
            continue;
        find_plain(kern_sets[i], 70, few, 5);
        find_plain(kern_sets[i], 1100, many, i == 0 ? 4 : 5);
        find_among(kern_sets[i], 70);
        find_among(kern_sets[i], 1100);
        find_wanted(kern_sets[i], 70, 3);
        find_wanted(kern_sets[i], 1100, 1000);
        find_golden(kern_sets[i]);
        draw_rows(kern_sets[i], 1100, 1);
        draw_rows(kern_sets[i], 1100, 50);
        draw_rows(kern_sets[i], 70, 3000);
    }
    return done_testing();
}
