/* Steps, and how a run ends: see steps.h. */
#include "steps.h"
#include "again.h"
#include "card.h"
#include "rank.h"
#include "rounding.h"
#include "spikes.h"
#include "student.h"
#include "record.h"
#include "base/mem.h"
#include "base/note.h"
#include "base/clock.h"
#include "base/profile.h"
#include "base/rng.h"
#include "base/stop.h"
#include "base/timeline.h"
#include "cli/die.h"
#include "cli/prog.h"
#include "cli/progress.h"
#include "cli/sh.h"
#include "train/effective.h"
#include "model/files/mixture.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* For --mask: the steps after which weights are chosen again, and the decay of
 * the weights that are left out (SR-STE, arXiv:2102.04010). */
enum { REMASK = 10 };
static const double MASK_DECAY = 2e-4;

/* Has any rank been asked to stop? */
static int
any_stopped(struct student *s)
{
    struct err e;

    rank_agree(s, 1, &e);
    return s->stop;
}

/* May the run stop now, and should it? */
static int
stops_here(struct student *s)
{
    const struct command *c = s->command;

    return (c->whole == NULL || c->whole(s)) && any_stopped(s);
}

/* Has the run reached a multiple of `every` steps after step `from`? */
static int
is_due(const struct student *s, uint64_t from, size_t every)
{
    return every > 0 && s->st.step / every > from / every;
}

/* Skip the messages of a step from which nothing can be learnt, such as a last
 * row whose pieces have one token each. */
static void
pass_over(struct student *s)
{
    s->command->place(s);
    if (s->outer != NULL) { /* other ranks may have something scored */
        s->st.step++;
        round_add(s, &(struct round_step){ .lr = 0.0 });
        return;
    }
    note("%s: nothing is scored up to message %" PRIu64 ": passed over",
        s->in.name, s->at.seq);
}

static struct adamw_opt
next_options(const struct student *s)
{
    return (struct adamw_opt){
        .lr = sched_lr(s->settings.schedule, s->a->lr, s->st.step, s->total,
            s->warmup, s->settings.by),
        .beta1 = s->settings.beta1,
        .beta2 = s->settings.beta2,
        .eps = s->settings.eps,
        .decay = s->a->decay,
        .clip = s->a->clip,
        .limit = spikes_limit(s),
        .mask_decay = MASK_DECAY,
        .average = s->outer != NULL ? 1.0 : s->a->ema,
    };
}

/* Recompute effective weights and the adapter's norms after an update. */
static void
follow_weights(struct student *s)
{
    effective_make(&s->t, s->pool);
    if (s->t.adapter != NULL)
        adapter_norms(s->t.adapter, &s->t.m, s->pool);
}

/* Log a step that has been made; within a round, keep it for round_end. */
static int
log_step(struct student *s, const struct round_step *k, double loss,
    const struct buf *values, struct err *e)
{
    if (s->outer != NULL) {
        round_add(s, k);
        return 0;
    }
    s->st.tokens += k->sum.tok;
    s->last = loss;
    if (k->skipped && spikes_record(s, &k->spike, "", e) < 0)
        return -1;
    return metrics_line(&s->saver, &s->st, k->sum.n, loss, values, k->lr,
        k->spike.norm, metrics_time(&s->saver), e);
}

/* Divide gradient sums by `count`, clip them, and update parameters.  values:
 * those of the command's columns of metrics.tsv.  0; -1 and *e: nothing is
 * updated, or the step's line cannot be written to a log. */
static int
apply_step(struct student *s, const struct loss_sum *sum, double loss,
    size_t count, const struct buf *values, struct err *e)
{
    const struct adamw_opt o = next_options(s);
    struct round_step made = { .sum = *sum, .lr = o.lr };
    char text[60];

    if (!isfinite(loss))
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": the loss is not finite; the weights are those "
            "of the step before",
            s->st.step + 1);
    if (save_written(&s->saver, e) < 0 || rank_unchanged(s, e) < 0)
        return -1;
    made.spike = (struct spike){ .step = s->st.step + 1,
        .first = s->at.seq + 1,
        .loss = loss,
        .mean = spikes_mean(s) };
    made.skipped =
        adamw_step(s->opt, &s->t, s->pool, &o, count, &made.spike.norm, e);
    if (made.skipped < 0)
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": the gradient norm is not finite; the weights "
            "are those of the step before",
            s->st.step + 1);
    param_shards_changed(s->parts);
    rank_keep(s);
    note_rounding(s);
    s->st.step++;
    if (s->st.step % REMASK == 0)
        effective_choose(&s->t, s->pool);
    follow_weights(s);
    s->command->place(s);
    made.spike.last = s->at.seq;
    snprintf(text, sizeof(text), "loss %.4f", loss);
    progress_at((double)s->st.step, text);
    if (!made.skipped)
        spikes_count(s, made.spike.norm);
    return log_step(s, &made, loss, values, e);
}

/* Wait for the checkpoint that is being written, then die with *why. */
static void
end_run(struct student *s, const struct err *why)
{
    struct err e;

    if (save_done(&s->saver, &e) < 0)
        warn("%s", e.msg);
    die_err(why);
}

/* Begin a checkpoint; with `now`, wait until it is complete. */
static void
begin_save(struct student *s, int now)
{
    struct err e;

    if (s->saved != s->st.step && rank_same(s, &e) < 0)
        end_run(s, &e);
    if (s->saved != s->st.step &&
        save_begin(&s->saver, &s->t, s->opt, &s->st, &s->at, &e) < 0)
        die_err(&e);
    s->saved = s->st.step;
    if (now && save_done(&s->saver, &e) < 0)
        die_err(&e);
}

/* With --ema, exchange the weights for their averages, or back. */
static void
swap_averages(struct student *s)
{
    if (!(s->a->ema > 0.0))
        return;
    adamw_swap(s->opt, &s->t);
    param_shards_changed(s->parts);
    follow_weights(s);
}

/* If it is time since step `from`, evaluate the model that the run would finish
 * with now. */
static int
judge_step(struct student *s, uint64_t from, struct err *e)
{
    int r;

    if (s->a->eval == NULL || !is_due(s, from, s->a->eval_every))
        return 0;
    if (save_written(&s->saver, e) < 0)
        return -1;
    swap_averages(s);
    r = s->command->judge(s, e);
    /* the checkpoint will hold other weights than were evaluated */
    if (r == 0 && s->st.best == s->st.step &&
        (s->a->ema > 0.0 || effective_bytes(&s->t) > 0))
        r = save_evaluated(&s->saver, &s->t, s->st.step, e);
    swap_averages(s);
    return r;
}

/* Evaluate and begin a checkpoint, each if it is time since step `from`. */
static int
judge_and_save(struct student *s, uint64_t from, struct err *e)
{
    if (judge_step(s, from, e) < 0)
        return -1;
    if (is_due(s, from, s->a->save) ||
        (s->st.judged == s->st.step && s->st.best == s->st.step))
        begin_save(s, 0);
    return 0;
}

/* Update with the gradients that have been added.  0: done, or there was
 * nothing to learn; -1 and *e. */
static int
update_step(struct student *s, const struct loss_sum *sum, struct err *e)
{
    const struct command *c = s->command;
    struct buf values = { 0 };
    size_t count;
    const double loss = c->result(s, sum, &count, &values);
    int r = 0;

    if (count == 0) {
        pass_over(s);
    } else if (apply_step(s, sum, loss, count, &values, e) < 0) {
        r = -1;
    } else {
        profile_step(sum->tok);
        if (s->outer == NULL)
            r = judge_and_save(s, s->st.step - 1, e);
    }
    buf_release(&values);
    return r;
}

/* Add the gradients of the next step, as gather of struct command. */
static int
gather_step(struct student *s, struct loss_sum *sum, struct err *e)
{
    const uint64_t key = rng_key(rng_key(s->a->seed, 'D'), s->st.step);

    if (s->step != NULL)
        step_dropout(s->step, &key);
    return s->command->gather(s, sum, e);
}

/* Is there another step, unless the input ends? */
static int
has_next_step(struct student *s)
{
    return !stops_here(s) && !held_out_over(s) &&
        (s->a->steps == 0 || s->st.step < s->a->steps);
}

/* Returns the begin of a message on the stop, in `why`. */
static const char *
stop_reason(const struct student *s, char why[60])
{
    *why = '\0';
    if (s->stop == SIGALRM)
        snprintf(why, 60, "%g s are over (--max-time): ", s->a->max_time);
    return why;
}

/* Say which steps are lost by an end within a round. */
static void
warn_of_lost_steps(const struct student *s)
{
    if (s->saved > 0)
        warn("%s: the steps after step %" PRIu64 ", the last checkpoint, are "
             "lost",
            s->a->run, s->saved);
    else
        warn("%s: all steps are lost: there was no checkpoint yet", s->a->run);
}

/* Exchange weights at the end of a round, evaluate and save. */
static int
exchange_weights(struct student *s, struct err *e)
{
    if (save_written(&s->saver, e) < 0)
        return -1;
    outer_step(s->outer, &s->t, s->pool);
    if (s->a->ema > 0.0)
        adamw_follow(s->opt, &s->t, pow(s->a->ema, (double)s->round.n));
    follow_weights(s);
    return judge_and_save(s, s->round.from, e);
}

/* Take the steps of a round (--sync-every).  1; 0: the input is over, or the
 * round is lost. */
static int
run_round(struct student *s)
{
    struct loss_sum sum;
    struct err e;
    int r = 1, bad = 0;

    round_begin(s);
    while (bad == 0 && round_goes_on(s) && (r = gather_step(s, &sum, &e)) > 0)
        bad = update_step(s, &sum, &e);
    if (r < 0 && (stop_asked || prog_stop_deferred()))
        s->round.lost = 1;
    else if (r < 0)
        bad = -1;
    if (bad == 0)
        bad = round_end(s, &e);
    if (bad == 0 && s->round.lost)
        return 0;
    if (bad == 0 && s->round.n > 0)
        bad = exchange_weights(s, &e);
    if (bad < 0) {
        warn_of_lost_steps(s);
        end_run(s, &e);
    }
    return r;
}

/* End a run whose round is lost; returns the exit status. */
static int
stop_in_round(struct student *s)
{
    struct err e;
    char why[60];

    if (save_done(&s->saver, &e) < 0)
        die_err(&e);
    any_stopped(s);
    note("%s: %sstopped within a round of --sync-every", s->a->run,
        stop_reason(s, why));
    if (s->ranks.rank == 0)
        warn_of_lost_steps(s);
    again_tell(s);
    return EX_STOP;
}

int
steps_run(struct student *s)
{
    struct loss_sum sum;
    struct err e;
    int r = 1;

    while (r > 0 && has_next_step(s)) {
        if (s->outer != NULL)
            r = run_round(s);
        else if ((r = gather_step(s, &sum, &e)) > 0 &&
            update_step(s, &sum, &e) < 0)
            end_run(s, &e);
    }
    prog_saving(1);
    if (s->round.lost)
        return stop_in_round(s);
    if (r >= 0 && !s->stop)
        return EX_OK;
    begin_save(s, 1);
    if (s->stop) {
        char why[60];

        note("%s: %sstopped after step %" PRIu64 ", saved", s->a->run,
            stop_reason(s, why), s->st.step);
        again_tell(s);
        return EX_STOP;
    }
    warn("%s", e.msg);
    return e.code;
}

/* If rounding the finished weights again would change them, print how to make a
 * GGUF file of exactly these weights. */
static void
note_exact(const struct student *s)
{
    char *run = sh_word(s->a->run);

    if (effective_searches(&s->effective))
        note("%s: for a GGUF of exactly these weights: convert --dtype %s "
             "%s/step-%" PRIu64 " FILE.gguf",
            s->a->run, s->effective.file->name, run, s->st.step);
    free(run);
}

/* Print the closing line: steps, speed, loss, and the folder's path (its end,
 * if it is long). */
static void
print_run_closing(const struct student *s, double wall)
{
    const size_t n = strlen(s->a->run), most = 36;

    char loss[40] = "";

    if (s->st.tokens > s->before)
        snprintf(loss, sizeof loss, "loss %.4f, ", s->last);
    prog_closing("%" PRIu64 " steps, %.1f tokens/s, %sin %s%s", s->st.step,
        wall > 0 ? (double)(s->st.tokens - s->before) / wall : 0.0, loss,
        n > most ? "..." : "", s->a->run + (n > most ? n - most + 3 : 0));
    prog_detail("%" PRIu64 " tokens, waited %.1f s for input", s->st.tokens,
        s->feed.in != NULL ? msg_in_wait(s->feed.in) : 0.0);
}

void
steps_end(struct student *s, int status, double wall)
{
    struct err e;

    if (s->finished) {
        note("%s: finished after step %" PRIu64 ": it stays as it is",
            s->a->run, s->st.step);
        print_run_closing(s, wall);
        return;
    }
    if (status == EX_OK) {
        if (s->st.step == 0)
            die(EX_INPUT, "%s: no batches that are scored", s->in.name);
        begin_save(s, 1);
        swap_averages(s);
        if ((s->ranks.rank == 0 && run_card_write(s, &e) < 0) ||
            save_final(&s->saver, &s->t, &e) < 0)
            die_err(&e);
        if (s->ranks.rank == 0)
            record_finished(s->a->run, s->st.step);
        if (s->command->finish != NULL)
            s->command->finish(s);
        note_exact(s);
    }
    if (fclose(s->saver.log) != 0)
        die(EX_SYS, "%s/metrics.tsv:", s->a->run);
    print_run_closing(s, wall);
}
