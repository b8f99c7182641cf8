/* Notes on the effect of half precision: see rounding.h. */
#include "sketch.h"
#include "rounding.h"
#include "student.h"
#include "base/note.h"
#include "kern/kern.h"
#include "model/pass/compute.h"
#include "train/plan.h"

#include <stdlib.h>

void
note_rounding(const struct student *s)
{
    static int told;

    if (told++ > 0)
        return;
    if (s->a->act == 1)
        note("activations are kept in bf16: rounding changes them by %.2f %% "
             "(rms)",
            100.0 * step_rounding(s->step));
    if (s->a->grad == 1)
        note("gradients are kept in bf16: rounding changes them by %.2f %% "
             "(rms)",
            100.0 * step_grad_rounding(s->step));
    if (s->a->moments == 1)
        note("moments are kept in bf16: rounding changes them by %.2f %% (rms) "
             "a step",
            100.0 * adamw_rounding(s->opt));
    if (ranks_rounding(s->sum) > 0.0)
        note("gradients are sent in bf16: rounding changes them by %.2f %% "
             "(rms)",
            100.0 * ranks_rounding(s->sum));
}

void
note_compute(struct student *s)
{
    const struct batch *b = &s->feed.batch;
    const size_t micro = plan_micro(s->a->micro, b->B, b->T);
    double loss[2], *g[2];

    if (s->a->setup.compute == 0 || verbosity < 0 || s->t.share.n > 1 ||
        s->pipe != NULL)
        return;
    if (memchr(b->scored, 1, micro * b->T) == NULL) /* there is no loss */
        return;
    for (int k = 0; k < 2; k++) {
        struct loss_sum sum = { 0 };

        kern_compute(compute_names[k == 0 ? 0 : s->a->setup.compute]);
        step_add(s->step, &(struct rows){ micro, b->T, b->ids, b->first },
            b->scored, &s->feed.targets, &sum);
        step_flush(s->step);
        loss[k] = loss_sum_mean(&sum, &s->loss);
        g[k] = sketch_new(&s->t);
        tmodel_zero_grad(&s->t);
    }
    note("on the first %zu tokens that changes the loss from %.5f to %.5f, and "
         "the gradient by %.2f %% (rms)",
        micro * b->T, loss[0], loss[1], 100.0 * sketch_distance(g[0], g[1]));
    free(g[0]);
    free(g[1]);
}
