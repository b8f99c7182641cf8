/* The number format of matrix products, and the error it causes; see
 * compute.h. */
#include "model/pass/compute.h"
#include "base/mem.h"
#include "base/note.h"
#include "kern/kern.h"
#include "model/pass/head.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const compute_names[] = { "f32", "bf16", "avx512bf16", "amx",
    "bfmmla", NULL };

int
compute_init(int choice, struct err *e)
{
    const char *why = kern_init();

    if (why != NULL)
        return err_set(e, EX_SYS, "%s", why);
    kern_compute(compute_names[choice]);
    if (choice > 0)
        note("products in bfloat16 by %s", strchr(kern_name(), '+') + 1);
    if (kern_slow())
        warn("--compute %s: plain C gives what other kernels do hundreds of "
             "times faster",
            compute_names[choice]);
    return 0;
}

int
compute_fastest(void)
{
    int i = 0;

    if (kern_init() != NULL)
        return 0;
    while (strcmp(compute_names[i], kern_fastest()) != 0)
        i++;
    return i;
}

/* Compute the final states x [T,d] of one row; return the mean loss of its
 * predictions, 0 if there are none. */
static double
run_sample(struct fwd *f, const struct model *m, const struct rows *r, float *x)
{
    double *nll = xcalloc(r->T, sizeof *nll), sum = 0.0;
    size_t n = 0;

    fwd_embed(f, r, x);
    for (size_t i = 0; i < m->c.L; i++) {
        model_forget(m, NULL);
        fwd_block(f, i, r, x, x);
    }
    fwd_norm(f, r, x, x);
    head_score(f, x, r->ids + 1, r->T - 1, nll, NULL, NULL);
    for (size_t i = 0; i + 1 < r->T; i++)
        if (r->first[i] != UINT32_MAX && r->first[i] == r->first[i + 1]) {
            sum += nll[i];
            n++;
        }
    free(nll);
    return n > 0 ? sum / (double)n : 0.0;
}

/* KL(p || q) of two rows of logits [V], nats. */
static double
sample_divergence(const float *zp, const float *zq, size_t V)
{
    const float mp = kern.max(zp, V), mq = kern.max(zq, V);
    const double q = kern.expsum(zq, V, mq, 1.0f);
    double w, p = kern.kl_sums(zp, zq, V, mp, 1.0f, &w);

    return w / p - (mp + log(p)) + (mq + log(q));
}

/* Results for a sample: [0] with products in fp32, [1] in the chosen format. */
struct sample {
    float *x[2]; /* [T,d] final states */
    double loss[2];
    double kl; /* mean over the first tokens of COMPUTE_LOGITS equal parts of
                * the row */
};

static void
take_sample(struct sample *s, const struct model *m, struct pool *pool,
    const struct rows *r, const char *name)
{
    const size_t d = m->c.d, V = m->c.V;
    const size_t n = r->T < COMPUTE_LOGITS ? r->T : COMPUTE_LOGITS;
    struct fwd *f = fwd_new(m, pool, 1, r->T);
    float *h = xreallocarray(NULL, n * d, sizeof *h), *z[2];

    fwd_forget_head(f);
    for (int k = 0; k < 2; k++) {
        kern_compute(k == 0 ? "f32" : name);
        s->x[k] = xreallocarray(NULL, r->T * d, sizeof **s->x);
        z[k] = xreallocarray(NULL, n * V, sizeof **z);
        s->loss[k] = run_sample(f, m, r, s->x[k]);
        for (size_t i = 0; i < n; i++)
            memcpy(h + i * d, s->x[k] + i * r->T / n * d, d * sizeof *h);
        fwd_head(f, h, n, z[k]);
    }
    s->kl = 0.0;
    for (size_t i = 0; i < n; i++)
        s->kl += sample_divergence(z[0] + i * V, z[1] + i * V, V) / (double)n;
    model_forget(m, NULL);
    free(z[0]);
    free(z[1]);
    free(h);
    fwd_free(f);
}

void
compute_note(const struct model *m, struct pool *pool, const struct rows *r,
    int choice, const char *who)
{
    const struct rows some = { 1, r->T < COMPUTE_SAMPLE ? r->T : COMPUTE_SAMPLE,
        r->ids, r->first };
    const size_t n = some.T * m->c.d;
    struct sample s;

    if (choice == 0 || verbosity < 0 || some.T < 2)
        return;
    take_sample(&s, m, pool, &some, compute_names[choice]);
    note("%s: on %zu tokens that changes final states by %.2f %% (rms), the "
         "loss from %.5f to %.5f, distributions by %.2g nats of KL",
        who, some.T,
        100.0 * sqrt(kern.sqdist(s.x[0], s.x[1], n) / kern.sumsq(s.x[0], n)),
        s.loss[0], s.loss[1], s.kl);
    free(s.x[0]);
    free(s.x[1]);
}
