/* Cost of sending states in bf16: see round.h. */
#include "round.h"
#include "base/mem.h"
#include "base/note.h"
#include "kern/kern.h"
#include "kern/rounding.h"
#include "model/pass/forward.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Number of final states whose distributions are compared. */
enum { SAMPLE = 32 };

struct rounding {
    double lost[2], whole[2]; /* sums of squares of rounding errors and of
                               * states; [0]: outputs of blocks, [1]: final
                               * states */
    float *exact;             /* [SAMPLE,d] */
    size_t n;
    size_t bytes; /* work space of sample_divergence */
};

/* Make two work spaces for the head: one for rounded, one for exact states. */
static void
head_spaces(struct fwd *f[2], const struct model *m, struct pool *pool)
{
    for (int i = 0; i < 2; i++) {
        f[i] = fwd_new(m, pool, 1, 1);
        fwd_forget_head(f[i]);
    }
}

struct rounding *
rounding_new(const struct model *m, struct pool *pool)
{
    struct rounding *r = xcalloc(1, sizeof *r);
    struct fwd *f[2];

    r->exact = xcalloc(SAMPLE * m->c.d, sizeof *r->exact);
    head_spaces(f, m, pool);
    r->bytes = fwd_bytes(f[0]) + fwd_bytes(f[1]);
    fwd_free(f[0]);
    fwd_free(f[1]);
    return r;
}

size_t
rounding_bytes(const struct rounding *r)
{
    return r->bytes;
}

void
rounding_add(struct rounding *r, const struct model *m, const float *x,
    const uint32_t *first, size_t n, int final)
{
    const size_t d = m->c.d;

    rounding_bf16(x, n * d, &r->lost[final], &r->whole[final]);
    for (size_t i = 0; final && i < n && r->n < SAMPLE; i++) {
        const size_t at = (i * 7919) % n; /* 7919 is a prime: the sample is
                                           * spread over the batch */

        if (first[at] != UINT32_MAX)
            memcpy(r->exact + r->n++ * d, x + at * d, d * sizeof *x);
    }
}

/* Mean KL(exact || rounded) of the sample at temperature 1, nats. */
static double
sample_divergence(const struct rounding *r, const struct model *m,
    struct pool *pool)
{
    const size_t n = r->n * m->c.d;
    struct fwd *f[2];
    struct pair_score score[SAMPLE];
    uint16_t *half = xcalloc(n, sizeof *half);
    float *rounded = xcalloc(n, sizeof *rounded);
    double kl = 0.0;

    head_spaces(f, m, pool);
    kern.narrow_bf16(half, r->exact, n);
    kern.widen_bf16(rounded, half, n);
    head_score_pair(f[0], rounded, f[1], r->exact, m->c.V, NULL, r->n, 1.0,
        score);
    model_forget(m, NULL);
    for (size_t i = 0; i < r->n; i++)
        kl += score[i].kl;
    fwd_free(f[0]);
    fwd_free(f[1]);
    free(half);
    free(rounded);
    return kl / (double)r->n;
}

void
rounding_tell(struct rounding *r, const struct model *m, struct pool *pool)
{
    if (r->whole[0] > 0.0)
        note("outputs of blocks are sent in bf16: rounding changes them by "
             "%.2f %% (rms)",
            100.0 * sqrt(r->lost[0] / r->whole[0]));
    if (r->whole[1] > 0.0 && r->n > 0)
        note("final states are sent in bf16: rounding changes them by %.2f %% "
             "(rms), their distributions by %.2g nats of KL at temperature 1 "
             "(mean of %zu)",
            100.0 * sqrt(r->lost[1] / r->whole[1]),
            sample_divergence(r, m, pool), r->n);
    free(r->exact);
    free(r);
}
