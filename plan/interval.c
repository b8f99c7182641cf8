/* Intervals of predictions: see predict.h.  The spread of a machine's
 * published runs is in its file. */
#include "predict.h"
#include "base/note.h"

/* If v, a value of `what`, is outside least..most, the values of published
 * runs, append it and add 1 to *n. */
static void
add_range(struct buf *b, size_t *n, const char *what, double v, double least,
    double most)
{
    if (v >= least && v <= most)
        return;
    buf_addf(b, "%s%.0f %s (published: %.0f to %.0f)", *n > 0 ? ", " : "", v,
        what, least, most);
    ++*n;
}

size_t
interval_reasons(struct buf *b, const struct job *j)
{
    size_t n = 0;

    if (j->m.time_high == 0.0 && !(j->anchor > 0.0)) {
        buf_addf(b, "no published run on this machine");
        n = 1;
    }
    add_range(b, &n, "ranks", job_world(j), 8.0, 3072.0);
    add_range(b, &n, "numbers a state", j->student.d, 768.0, 25600.0);
    add_range(b, &n, "tokens a row", j->length, 512.0, 65536.0);
    if (j->student.experts > 0.0)
        add_range(b, &n, "expert ranks", j->expert, 2.0, 8.0);
    if (j->teacher.L > 0.0)
        buf_addf(b, "%sa teacher", n++ > 0 ? ", " : "");
    if (j->sync > 0.0)
        buf_addf(b, "%ssync", n++ > 0 ? ", " : "");
    if (j->compute != COMPUTE_BF16)
        buf_addf(b, "%sproducts in another type than bf16",
            n++ > 0 ? ", " : "");
    return n;
}

void
interval_note(const struct job *j)
{
    struct buf b = { 0 };

    if (interval_reasons(&b, j) > 0)
        note("extrapolates: %s", b.p);
    buf_release(&b);
}

void
add_interval(struct figures *f, const struct job *j)
{
    const double step = figure_of(f, "step"), memory = figure_of(f, "memory");
    const double allocated = figure_of(f, "allocated");
    const int known = j->m.time_high > 0.0, anchor = j->anchor > 0.0;
    const double low = anchor ? ANCHOR_LOW
        : known               ? j->m.time_low
                              : UNKNOWN_LOW;
    const double high = anchor ? ANCHOR_HIGH
        : known                ? j->m.time_high
                               : UNKNOWN_HIGH;
    /* Without published runs the factors are a guess of the machine's speed.
     * They do not apply to exchanges: the speed of the network is given. */
    const double sure = anchor || known ? 0.0 : figure_of(f, "step.reduce");
    struct buf b = { 0 };
    const size_t reasons = interval_reasons(&b, j);

    buf_release(&b);
    figure_add(f, "likely.step.low", sure + (step - sure) * low);
    figure_add(f, "likely.step.high", sure + (step - sure) * high);
    figure_add(f, "likely.allocated.low", allocated * j->m.memory_low);
    figure_add(f, "likely.allocated.high", allocated * j->m.memory_high);
    figure_add(f, "likely.memory.low", memory * j->m.memory_low);
    figure_add(f, "likely.memory.high", memory * j->m.memory_high);
    figure_add(f, "extrapolates", (double)reasons);
}
