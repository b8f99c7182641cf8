/* Evaluation on held-out batches during training: see held_out.h. */
#include "held_out.h"
#include "student.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/note.h"
#include "cli/die.h"
#include "dist/alike.h"
#include "dist/watch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define HELD_OUT_HEAD "step\ttokens\tscored\tloss\tce\tkl\tseconds\n"

/* Refuse a pipe: held-out batches are read again and again. */
static void
check_eval_file(const char *path)
{
    struct stat st;

    if (stat(path, &st) < 0)
        die(EX_SYS, "%s:", path);
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
        die(EX_USAGE,
            "--eval %s: is a pipe or device: give a file or a shard directory, "
            "which can be read again",
            path);
}

/* Share one copy of the head if both streams have the same head. */
static void
share_head(struct feed *mine, const struct feed *training)
{
    if (mine->head_mem == NULL || training->head.data == NULL ||
        strcmp(mine->head_hash, training->head_hash) != 0)
        return;
    free(mine->head_mem);
    free(mine->bias_mem);
    mine->head_mem = mine->bias_mem = NULL;
    mine->head = training->head;
}

void
held_out_open(struct student *s)
{
    struct held_out *h = &s->held;
    struct feed *f = &h->feed;
    enum targets_kind kind;
    struct err e;

    if (s->a->eval == NULL)
        return;
    check_eval_file(s->a->eval);
    feed_open(f, s->a->eval, s->a->teacher, s->a->ahead,
        s->a->setup.compute != 0, &s->t.m);
    if (!f->ahead)
        die(EX_INPUT, "%s: no batches", f->name);
    if (strcmp(f->info.tokenizer, s->feed.info.tokenizer) != 0)
        die(EX_INPUT, "%s: was made with another tokenizer than %s", f->name,
            s->feed.name);
    h->T = feed_shape(f)[1];
    if (config_check_positions(&s->t.m.c, h->T, s->a->model, &e) < 0)
        die_err(&e);
    chain_hex(msg_in_chain(f->in), h->hash);
    kind = feed_kind(f);
    if (s->loss.direction != KL_FORWARD && kind > TARGETS_FINAL)
        die(EX_INPUT,
            "%s: holds tokens of a teacher, of which --kl-direction "
            "knows forward alone",
            f->name);
    feed_use(f, kind, 0, s->loss.tau);
    h->head = f->head_mem != NULL ? f->head.rows * f->head.stride : 0;
    share_head(f, &s->feed);
    h->loss = s->loss;
    h->loss.w_sh = 0.0;
    h->loss.dft = 0;
    if (kind == TARGETS_NONE || h->loss.w_kl == 0.0) {
        h->loss.w_ce = 1.0;
        h->loss.w_kl = 0.0;
    }
}

void
held_out_plan(struct student *s, struct plan_load *l)
{
    struct held_out *h = &s->held;

    if (s->a->eval == NULL)
        return;
    h->judge =
        step_judge_new(s->step, &h->loss, &h->feed.targets, &h->feed.head);
    l->judge = step_judge_bytes(h->judge);
    if (h->feed.head.data != s->feed.head.data)
        l->head += h->feed.head.rows * h->feed.head.stride;
    /* each evaluation reads the message with the head again */
    l->input += h->head + msg_in_memory(h->feed.in, h->feed.first.nraw);
}

void
held_out_begin(struct student *s)
{
    uint64_t last; /* unused: a resumed run may have had no --eval before */
    struct err e;

    if (s->a->eval != NULL)
        s->held.log = log_open(s->a->run, "held-out.tsv", HELD_OUT_HEAD,
            s->st.step, &last);
    if (s->st.best > 0 && save_best(s->a->run, s->st.best, &e) < 0)
        die_err(&e);
}

/* Make n passes that add nothing, while other ranks make passes that count. */
static void
idle_passes(struct held_out *h, size_t n)
{
    const struct batch *b = &h->feed.batch;

    while (n-- > 0)
        step_judge_pass(h->judge,
            &(struct rows){ b->B, b->T, b->ids, b->first });
}

/* Evaluate this rank's batches: rank, rank + n, ... for n ranks.  (*own)[k],
 * malloc'd: sums of this rank's batch k; *count: number of batches of all
 * ranks.  As ranks may gather parameters together, all ranks make the same
 * number of passes for each n batches: as many as the largest batch needs. */
static int
judge_own(struct student *s, struct loss_sum **own, size_t *count,
    struct err *e)
{
    struct held_out *h = &s->held;
    const struct batch *b = &h->feed.batch;
    const size_t n = s->ranks.n;
    size_t i = 0, passes = 0, most = 0;
    int r;

    while ((r = feed_next(&h->feed, e)) > 0) {
        const size_t p = step_passes(s->step, b->B);

        if (b->T > h->T)
            return err_set(e, EX_INPUT, "%s: rows of %zu tokens after %zu",
                h->feed.name, b->T, h->T);
        if (i % n == s->ranks.rank) {
            *own = xreallocarray(*own, i / n + 1, sizeof(**own));
            (*own)[i / n] = (struct loss_sum){ 0 };
            step_judge_add(h->judge,
                &(struct rows){ b->B, b->T, b->ids, b->first }, b->scored,
                &h->feed.targets, &(*own)[i / n]);
            passes = p;
        }
        most = p > most ? p : most;
        if (++i % n == 0) {
            idle_passes(h, most - passes);
            passes = most = 0;
        }
    }
    idle_passes(h, most - passes);
    *count = i;
    return r;
}

/* Check that every rank has read the same batches, `count` of them. */
static int
check_same_batches(const struct student *s, size_t count, struct err *e)
{
    char chain[33], text[100];

    chain_hex(msg_in_chain(s->held.feed.in), chain);
    snprintf(text, sizeof(text), "batches of --eval\t%zu, of hash %s\n", count,
        chain);
    return dist_alike(&s->ranks, text, EX_INPUT, e);
}

/* Add the sums of all ranks' batches in the order of the batches, so that *sum
 * does not depend on the number of ranks. */
static void
sum_batches(const struct student *s, const struct loss_sum *own, size_t count,
    struct loss_sum *sum)
{
    const size_t n = s->ranks.n, rank = s->ranks.rank;
    struct loss_sum *all = xcalloc(count, sizeof(*all));
    size_t *at = xcalloc(n + 1, sizeof(*at));

    for (size_t r = 0; r < n; r++)
        at[r + 1] = at[r] + (count + n - 1 - r) / n;
    for (size_t k = at[rank]; k < at[rank + 1]; k++)
        all[k] = own[k - at[rank]];
    dist_all_gather(&s->ranks, all, sizeof(*all), at);
    memset(sum, 0, sizeof(*sum));
    for (size_t i = 0; i < count; i++)
        loss_sum_add(sum, &all[at[i % n] + i / n]);
    free(at);
    free(all);
}

/* Sum the losses of all batches. */
static int
judge_batches(struct student *s, struct loss_sum *sum, struct err *e)
{
    struct held_out *h = &s->held;
    struct loss_sum *own = NULL;
    size_t count = 0;
    int r = feed_again(&h->feed, s->a->eval, s->a->ahead, e);

    if (r == 0)
        r = judge_own(s, &own, &count, e);
    if (r == 0)
        r = check_same_batches(s, count, e);
    if (r == 0) {
        sum_batches(s, own, count, sum);
        if (sum->n == 0)
            r = err_set(e, EX_INPUT, "%s: no scored tokens", h->feed.name);
    }
    free(own);
    return r;
}

/* Count an evaluation, and record it if it is the best so far. */
static void
compare_best(struct progress_state *st, double loss)
{
    st->judged = st->step;
    st->since++;
    if (st->best > 0 && !(loss < st->best_loss))
        return;
    st->best = st->step;
    st->best_loss = loss;
    st->since = 0;
}

int
held_out_judge(struct student *s, struct err *e)
{
    const struct loss_opt *o = &s->held.loss;
    const double start = clock_now();
    double loss, n, seconds;
    struct loss_sum sum;
    int r;

    watch_busy(1);
    r = judge_batches(s, &sum, e);
    watch_busy(-1);
    if (r < 0)
        return -1;
    n = (double)sum.n;
    loss = (o->w_ce * sum.ce + o->w_kl * sum.kl) / n;
    if (!isfinite(loss))
        return err_set(e, EX_NUM,
            "step %" PRIu64 ": %s: the loss is not finite", s->st.step,
            s->held.feed.name);
    compare_best(&s->st, loss);
    seconds = clock_now() - start;
    s->saver.logged += seconds;
    fprintf(s->held.log,
        "%" PRIu64 "\t%" PRIu64 "\t%zu\t%.9g\t%.9g\t%.9g\t%.3f\n", s->st.step,
        s->st.tokens, sum.n, loss, sum.ce / n, sum.kl / n, seconds);
    if (fflush(s->held.log) != 0)
        return err_set(e, EX_SYS, "%s/held-out.tsv:", s->a->run);
    note("step %" PRIu64 ": held out: loss %.4f, CE %.4f, KL %.4f%s",
        s->st.step, loss, sum.ce / n, sum.kl / n,
        s->st.best == s->st.step ? ", the best so far" : "");
    return 0;
}

int
held_out_over(const struct student *s)
{
    return s->a->patience > 0 && s->st.since >= s->a->patience;
}

void
held_out_tell(const struct student *s)
{
    if (held_out_over(s))
        note("%s: no better for %" PRIu64 " evaluations: stopped after step "
             "%" PRIu64,
            s->a->run, s->st.since, s->st.step);
    if (s->st.best > 0)
        note("%s/best: held-out loss %.4f, after step %" PRIu64, s->a->run,
            s->st.best_loss, s->st.best);
}

void
held_out_close(struct student *s)
{
    if (s->a->eval == NULL)
        return;
    if (s->held.feed.head.data == s->feed.head.data)
        s->held.feed.head_mem = NULL;
    step_judge_free(s->held.judge);
    feed_close(&s->held.feed);
    if (s->held.log != NULL && fclose(s->held.log) != 0)
        die(EX_SYS, "%s/held-out.tsv:", s->a->run);
}
