/* Steps that are left out: see spikes.h. */
#include "spikes.h"
#include "student.h"
#include "base/note.h"
#include "cli/die.h"

#include <inttypes.h>
#include <stdio.h>

#define SPIKES_HEAD "step\tfirst\tlast\tloss\tnorm\tmean\n"

/* Weighted mean of the norms of applied steps: each weighs KEEP times the next
 * one.  It is used once FIRST steps have been applied. */
#define KEEP 0.98
enum { FIRST = 10 };

void
spikes_begin(struct student *s)
{
    uint64_t last;

    if (s->a->spikes > 0.0)
        s->skipped =
            log_open(s->a->run, "skipped.tsv", SPIKES_HEAD, s->st.step, &last);
}

double
spikes_mean(const struct student *s)
{
    return s->st.norms / s->st.weights;
}

double
spikes_limit(const struct student *s)
{
    double least = 0.0;

    for (int i = 0; i < FIRST; i++)
        least = KEEP * least + 1.0;
    return s->a->spikes > 0.0 && s->st.weights >= least
        ? s->a->spikes * spikes_mean(s)
        : 0.0;
}

void
spikes_count(struct student *s, double norm)
{
    if (!(s->a->spikes > 0.0))
        return;
    s->st.norms = KEEP * s->st.norms + norm;
    s->st.weights = KEEP * s->st.weights + 1.0;
}

int
spikes_record(struct student *s, const struct spike *k, const char *who,
    struct err *e)
{
    note("step %" PRIu64 ": left out%s: the gradient norm %.4g is %.3g times "
         "the mean (batches %" PRIu64 " to %" PRIu64 ")",
        k->step, who, k->norm, k->norm / k->mean, k->first, k->last);
    fprintf(s->skipped,
        "%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%.9g\t%.9g\t%.9g\n", k->step,
        k->first, k->last, k->loss, k->norm, k->mean);
    if (fflush(s->skipped) != 0)
        return err_set(e, EX_SYS, "%s/skipped.tsv:", s->a->run);
    return 0;
}

void
spikes_close(struct student *s)
{
    if (s->skipped != NULL && fclose(s->skipped) != 0)
        die(EX_SYS, "%s/skipped.tsv:", s->a->run);
}
