/* Expected acceptance of a draft against sums in double over whole rows of
 * logits, with several slices of the vocabulary and rounds of rows. */
#include "../lib/kern_sets.h"
#include "../lib/tap.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 1300, D = 8, ROWS = 1100 };

static void
random_values(float *x, size_t n, float scale, uint64_t seed)
{
    for (size_t i = 0; i < n; i++)
        x[i] = scale * (float)rng_normal(seed, i);
}

/* A model that is only a head [V,D]. */
static void
only_head(struct model *m, float *head)
{
    memset(m, 0, sizeof(*m));
    snprintf(m->c.arch, sizeof m->c.arch, "llama");
    m->c.V = V;
    m->c.d = D;
    m->c.H = m->c.KV = 1;
    m->c.D = 2;
    m->head = (struct weight){ .data = (const void *)head,
        .dtype = DT_F32,
        .rows = V,
        .cols = D,
        .stride = D * sizeof(float) };
    m->embed = m->norm = m->head;
    m->norm.rows = 1;
}

/* Probability of id v among the first n ids. */
static double
share_of(const float *z, size_t n, size_t v)
{
    double sum = 0.0;

    for (size_t i = 0; i < n; i++)
        sum += exp((double)z[i] - z[v]);
    return 1.0 / sum;
}

static double
accept_of(const float *zq, const float *zp, size_t n)
{
    const double q = log(share_of(zq, n, 0)) - zq[0];
    const double p = log(share_of(zp, n, 0)) - zp[0];
    double sum = 0.0;

    for (size_t v = 0; v < n; v++)
        sum += fmin(exp(zq[v] + q), exp(zp[v] + p));
    return sum;
}

/* The acceptances over n ids; the other scores are those of head_score_pair. */
static void
test_ids(struct fwd *f, struct fwd *base, const float *h, size_t n)
{
    const float *hq = h, *hp = h + ROWS * D;
    float *room = xreallocarray(NULL, head_draft_room(V), sizeof *room);
    float *zq = xreallocarray(NULL, 2 * ROWS * V, sizeof *zq);
    float *zp = zq + ROWS * V;
    struct pair_score *got = xcalloc(ROWS, sizeof *got);
    struct pair_score *want = xcalloc(ROWS, sizeof *want);
    double off = 0.0;
    int others = 1;

    head_score_draft(f, hq, base, hp, n, NULL, ROWS, room, got);
    head_score_pair(f, hq, base, hp, n, NULL, ROWS, 1.0, want);
    fwd_head(f, hq, ROWS, zq);
    fwd_head(base, hp, ROWS, zp);
    for (size_t r = 0; r < ROWS; r++) {
        off = farther(off,
            fabs(got[r].accept - accept_of(zq + r * V, zp + r * V, n)));
        others &= got[r].kl == want[r].kl && got[r].back == want[r].back &&
            got[r].agree == want[r].agree && isnan(want[r].accept);
    }
    ok(off <= 2e-6, "%s: the acceptance over %zu ids is that of double (%.2g)",
        kern_name(), n, off);
    ok(others, "%s: the acceptance over %zu ids changes no other score",
        kern_name(), n);
    free(room);
    free(zq);
    free(got);
    free(want);
}

int
main(void)
{
    float *head = xreallocarray(NULL, 2 * V * D, sizeof *head);
    float *h = xreallocarray(NULL, 2 * ROWS * D, sizeof *h);
    struct model m[2];
    struct pool *pool;
    struct fwd *f[2];
    struct err e;

    random_values(head, V * D, 1.0f, 1);
    random_values(head + V * D, V * D, 0.5f, 2);
    memcpy(head + V * D + 100, head + 100, 4000 * sizeof *head);
    random_values(h, ROWS * D, 2.0f, 3);
    memcpy(h + ROWS * D, h, ROWS * D * sizeof *h);
    for (size_t k = 0; k < KERN_SETS; k++) {
        if (!kern_sets_use(kern_sets[k]))
            continue;
        if ((pool = pool_new(3, &e)) == NULL)
            return 1;
        for (size_t i = 0; i < 2; i++) {
            only_head(&m[i], head + i * V * D);
            f[i] = fwd_new(&m[i], pool, 1, ROWS);
        }
        test_ids(f[0], f[1], h, V);
        test_ids(f[0], f[1], h, 700);
        fwd_free(f[0]);
        fwd_free(f[1]);
        pool_free(pool);
    }
    free(head);
    free(h);
    return done_testing();
}
