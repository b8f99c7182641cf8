/* Rounds of --sync-every; see round.h. */
#include "round.h"
#include "student.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/stop.h"
#include "cli/prog.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
round_note(const struct student *s)
{
    const size_t n = s->a->sync;

    if (n == 0)
        return;
    note("each rank trains by itself; weights are exchanged every %zu steps, "
         "--outer %s",
        n, s->a->outer);
    if (s->a->save % n != 0)
        note("--save %zu: checkpoints are written at the first exchange after "
             "each %zu steps",
            s->a->save, s->a->save);
    if (s->a->eval != NULL && s->a->eval_every % n != 0)
        note("--eval-every %zu: evaluations are at the first exchange after "
             "each %zu steps",
            s->a->eval_every, s->a->eval_every);
}

void
round_begin(struct student *s)
{
    struct round *r = &s->round;

    r->n = 0;
    r->from = s->st.step;
    r->begun = clock_now();
    prog_defer_stop(1);
}

/* Number of steps that are left in the round, if the input does not end. */
static size_t
steps_left(const struct student *s)
{
    const size_t left = s->a->sync - s->round.n;

    if (s->a->steps == 0)
        return left;
    if (s->st.step >= s->a->steps)
        return 0;
    return s->a->steps - s->st.step < left ? s->a->steps - s->st.step : left;
}

int
round_goes_on(struct student *s)
{
    struct round *r = &s->round;
    const size_t left = steps_left(s);
    const double took = clock_now() - r->begun;

    if (left == 0)
        return 0;
    if (stop_asked)
        r->lost = 1;
    else if (prog_stop_deferred() && r->n > 0)
        r->lost = took / (double)r->n * (double)left > PROG_DEFER;
    return !r->lost;
}

void
round_add(struct student *s, const struct round_step *step)
{
    struct round *r = &s->round;

    if (r->n == r->room) {
        r->room = r->room > 0 ? 2 * r->room : 16;
        r->step = xreallocarray(r->step, r->room, sizeof *r->step);
    }
    r->step[r->n++] = *step;
}

/* Compare how far the ranks are.  0: they have made as many steps, or the round
 * is lost. */
static int
compare_rounds(struct student *s, struct err *e)
{
    struct round *r = &s->round;
    struct {
        size_t n;
        int lost;
    } *all = xcalloc(s->ranks.n, sizeof *all);
    int same = 1;

    all[s->ranks.rank].n = r->n;
    all[s->ranks.rank].lost = r->lost;
    dist_all_gather_one(&s->ranks, all, sizeof *all);
    for (size_t i = 0; i < s->ranks.n; i++) {
        r->lost |= all[i].lost;
        same &= all[i].n == r->n;
    }
    free(all);
    if (same || r->lost)
        return 0;
    return err_set(e, EX_INPUT, "%s: the ranks' streams differ in length",
        s->in.name);
}

/* Log the steps that ranks have left out. */
static int
log_skipped(struct student *s, const struct round_step *all, size_t k,
    struct err *e)
{
    char who[40] = "";

    for (size_t i = 0; i < s->ranks.n; i++) {
        const struct round_step *x = &all[i * s->round.n + k];

        if (s->ranks.n > 1)
            snprintf(who, sizeof who, " by rank %zu", i);
        if (x->skipped && spikes_record(s, &x->spike, who, e) < 0)
            return -1;
    }
    return 0;
}

/* Log step k of the round, whose shares are all[rank * n + k]. */
static int
log_round_step(struct student *s, const struct round_step *all, size_t k,
    double seconds, struct err *e)
{
    const struct round_step *any = NULL;
    struct progress_state st = s->st;
    struct loss_sum sum = { 0 };
    struct buf values = { 0 };
    double norm = 0.0;
    size_t counted = 0, count;
    int r;

    for (size_t i = 0; i < s->ranks.n; i++) {
        const struct round_step *x = &all[i * s->round.n + k];

        if (x->sum.n == 0)
            continue;
        loss_sum_add(&sum, &x->sum);
        norm += x->spike.norm;
        any = x;
        counted++;
    }
    st.step = s->round.from + k + 1;
    if (any == NULL) {
        note("step %" PRIu64 ": nothing is scored", st.step);
        return 0;
    }
    s->st.tokens += sum.tok;
    st.tokens = s->st.tokens;
    s->last = s->command->result(s, &sum, &count, &values);
    r = metrics_line(&s->saver, &st, sum.n, s->last, &values, any->lr,
        norm / (double)counted, seconds, e);
    buf_release(&values);
    return r < 0 ? -1 : log_skipped(s, all, k, e);
}

int
round_end(struct student *s, struct err *e)
{
    struct round *r = &s->round;
    struct round_step *all;
    double seconds;
    int bad = 0;

    prog_defer_stop(0);
    if (compare_rounds(s, e) < 0)
        return -1;
    if (r->lost || r->n == 0)
        return 0;
    all = xcalloc(s->ranks.n * r->n, sizeof *all);
    memcpy(all + s->ranks.rank * r->n, r->step, r->n * sizeof *all);
    dist_all_gather_one(&s->ranks, all, r->n * sizeof *all);
    seconds = metrics_time(&s->saver) / (double)r->n;
    for (size_t k = 0; k < r->n && bad == 0; k++)
        bad = log_round_step(s, all, k, seconds, e);
    free(all);
    return bad;
}

void
round_release(struct round *r)
{
    free(r->step);
}
