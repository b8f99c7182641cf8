/* The kind of matrix products, and what it costs; see compute.h. */
#include "model/compute.h"
#include "base/mem.h"
#include "base/note.h"
#include "kern/kern.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const compute_names[] = { "f32", "bf16", "avx512bf16", "amx",
    NULL };

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

/* Normed final states x [T,d] of one row, and the mean loss over them. */
static double
run(struct fwd *f, const struct model *m, const struct rows *r, float *x)
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
    model_forget(m, NULL);
    for (size_t i = 0; i + 1 < r->T; i++)
        if (r->first[i] != UINT32_MAX && r->first[i] == r->first[i + 1]) {
            sum += nll[i];
            n++;
        }
    free(nll);
    return sum / (double)n;
}

void
compute_tell(const struct model *m, struct pool *pool, const struct rows *r,
    int choice, const char *who)
{
    const struct rows some = { 1, r->T < COMPUTE_SAMPLE ? r->T : COMPUTE_SAMPLE,
        r->ids, r->first };
    const size_t n = some.T * m->c.d;
    float *x[2];
    double loss[2];
    struct fwd *f;

    if (choice == 0 || verbosity < 0 || some.T < 2)
        return;
    f = fwd_new(m, pool, 1, some.T);
    fwd_forget_head(f);
    for (int k = 0; k < 2; k++) {
        kern_compute(compute_names[k == 0 ? 0 : choice]);
        x[k] = xreallocarray(NULL, n, sizeof(float));
        loss[k] = run(f, m, &some, x[k]);
    }
    note("%s: on %zu tokens that changes final states by %.2f %% (rms), and "
         "the loss from %.5f to %.5f",
        who, some.T,
        100.0 * sqrt(kern.sqdist(x[0], x[1], n) / kern.sumsq(x[0], n)), loss[0],
        loss[1]);
    for (int k = 0; k < 2; k++)
        free(x[k]);
    fwd_free(f);
}
