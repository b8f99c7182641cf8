/* Steps, and how a run ends: see student.h. */
#include "student.h"
#include "record.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/clock.h"
#include "base/profile.h"
#include "base/stop.h"
#include "base/timeline.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

/* The next message, on all ranks. */
static int
next(struct student *s, struct err *e)
{
    const struct batch *b = &s->feed.batch;
    const double t = clock_now();
    int r = feed_next(&s->feed, e);

    timeline_add("data", "next message", t);

    if (r > 0 && s->a->deterministic && b->B > s->rows * s->row_stride)
        r = err_set(e, EX_INPUT,
            "%s: a message has %zu rows, the first one had %zu", s->feed.name,
            b->B, s->rows * s->row_stride);
    return rank_agree(s, r, e);
}

/* Has any rank been asked to stop? */
static int
stopped(struct student *s)
{
    struct err e;

    rank_agree(s, 1, &e);
    return s->stop;
}

/* Read and add up to --grad-accum messages.  1: a step's worth (perhaps less at
 * the end of the stream); 0: nothing left; -1: damage. */
static int
gather(struct student *s, struct loss_sum *sum, struct err *e)
{
    const struct batch *b = &s->feed.batch;
    size_t n = 0;
    int r = 1;

    memset(sum, 0, sizeof(*sum));
    for (; n < s->a->accum && (r = next(s, e)) > 0; n++) {
        if (n == 0 && s->st.step == 0)
            tell_compute(s);
        ranks_add(s->sum, &(struct rows){ b->B, b->T, b->ids, b->first },
            b->scored, &s->feed.targets, s->first_row, s->row_stride, sum);
    }
    if (r >= 0 && n > 0)
        ranks_finish(s->sum, sum);
    return r < 0 ? -1 : n > 0;
}

/* What has been read is done with: a checkpoint goes on behind it. */
static void
take_position(struct student *s)
{
    position_release(&s->at);
    s->at = s->feed.pos;
    s->at.cursor = s->feed.pos.cursor ? xstrdup(s->feed.pos.cursor) : NULL;
}

/* A step's worth without a scored token, such as a last row of pieces of one
 * token: there is nothing to learn, and no step is made of it. */
static void
pass_over(struct student *s)
{
    note("%s: nothing is scored up to message %" PRIu64 ": passed over",
        s->feed.name, s->feed.pos.seq);
    take_position(s);
}

/* Clip and update.  -1 and nothing is updated. */
static int
apply(struct student *s, const struct loss_sum *sum, struct err *e)
{
    const struct adamw_opt o = {
        .lr = sched_lr((enum sched)s->a->schedule, s->a->lr, s->st.step,
            s->total, s->a->warmup, s->a->floor),
        .beta1 = s->a->beta1,
        .beta2 = s->a->beta2,
        .eps = s->a->eps,
        .decay = s->a->decay,
        .clip = s->a->clip,
        .lr_embed = s->a->lr_embed,
        .decay_embed = s->a->decay_embed,
        .mask_decay = s->a->mask_decay,
    };
    const double n = (double)sum->n;
    const double loss = (s->loss.w_ce * sum->ce + s->loss.w_kl * sum->kl +
                            s->loss.w_sh * sum->sh) /
        n;
    char text[60];
    double norm;

    if (!isfinite(loss))
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": the loss is not finite; the weights are those "
            "of the step before",
            s->st.step + 1);
    if (save_written(&s->saver, e) < 0 || rank_unchanged(s, e) < 0)
        return -1;
    if (adamw_step(s->opt, &s->t, s->pool, &o, sum->n, &norm, e) < 0)
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": the gradient norm is not finite; the weights "
            "are those of the step before",
            s->st.step + 1);
    param_shards_changed(s->parts);
    rank_keep(s);
    tell_rounding(s);
    s->st.step++;
    if (s->st.step % s->a->remask == 0)
        effective_choose(&s->t, s->pool);
    effective_make(&s->t, s->pool);
    s->st.tokens += sum->tok;
    take_position(s);
    snprintf(text, sizeof(text), "loss %.4f", loss);
    progress_at((double)s->st.step, text);
    s->last = loss;
    return metrics_add(&s->saver, &s->st, sum, loss, o.lr, norm, e);
}

/* A run that cannot go on ends with what it has saved. */
static void
give_up(struct student *s, const struct err *why)
{
    struct err e;

    if (save_done(&s->saver, &e) < 0)
        warn("%s", e.msg);
    die_err(why);
}

/* Begin a checkpoint; now: and wait until it is there. */
static void
checkpoint(struct student *s, int now)
{
    struct err e;

    if (s->saved != s->st.step && rank_same(s, &e) < 0)
        give_up(s, &e);
    if (s->saved != s->st.step &&
        save_begin(&s->saver, &s->t, s->opt, &s->st, &s->at, &e) < 0)
        die_err(&e);
    s->saved = s->st.step;
    if (now && save_done(&s->saver, &e) < 0)
        die_err(&e);
}

/* Train until the stream or --steps ends it; the exit status. */
int
train(struct student *s)
{
    struct loss_sum sum;
    struct err e;
    int r = 1;

    while (!stopped(s) && !held_out_over(s) &&
        (s->a->steps == 0 || s->st.step < s->a->steps) &&
        (r = gather(s, &sum, &e)) > 0) {
        if (sum.n == 0) {
            pass_over(s);
            continue;
        }
        if (apply(s, &sum, &e) < 0 || held_out_judge(s, &e) < 0)
            give_up(s, &e);
        profile_step(sum.tok);
        if ((s->a->save > 0 && s->st.step % s->a->save == 0) ||
            (s->st.judged == s->st.step && s->st.best == s->st.step))
            checkpoint(s, 0);
    }
    prog_saving(1);
    if (r >= 0 && !s->stop)
        return EX_OK;
    checkpoint(s, 1);
    if (s->stop) {
        char why[60] = "";

        if (s->stop == SIGALRM)
            snprintf(why, sizeof(why),
                "%g s are over (--max-time): ", s->a->max_time);
        note("%s: %sstopped after step %" PRIu64 ", saved", s->a->run, why,
            s->st.step);
        again_tell(s);
        return EX_STOP;
    }
    warn("%s", e.msg);
    return e.code;
}

/* The closing line: what was done, how fast, how well, and where it is (of a
 * long path the end). */
static void
tell(const struct student *s, double wall)
{
    const size_t n = strlen(s->a->run), most = 36;

    char loss[40] = "";

    if (s->st.tokens > s->before)
        snprintf(loss, sizeof loss, "loss %.4f, ", s->last);
    prog_closing("%" PRIu64 " steps, %.1f tokens/s, %sin %s%s", s->st.step,
        wall > 0 ? (double)(s->st.tokens - s->before) / wall : 0.0, loss,
        n > most ? "..." : "", s->a->run + (n > most ? n - most + 3 : 0));
    prog_detail("%" PRIu64 " tokens, waited %.1f s for input", s->st.tokens,
        msg_in_wait(s->feed.in));
}

void
finish(struct student *s, int status, double wall)
{
    struct err e;

    if (s->finished) {
        note("%s: finished after step %" PRIu64 ": it stays as it is",
            s->a->run, s->st.step);
        tell(s, wall);
        return;
    }
    if (status == EX_OK) {
        if (s->st.step == 0)
            die(EX_INPUT, "%s: no batches that are scored", s->feed.name);
        checkpoint(s, 1);
        if (save_final(&s->saver, &s->t, &e) < 0)
            die_err(&e);
        if (s->ranks.rank == 0)
            record_finished(s->a->run, s->st.step);
        held_out_tell(s);
    }
    if (fclose(s->saver.log) != 0)
        die(EX_SYS, "%s/metrics.tsv:", s->a->run);
    tell(s, wall);
}
