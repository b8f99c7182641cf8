/* A batch of student grpo; see grpo_batch.h. */
#include "grpo_batch.h"
#include "rank.h"
#include "base/mem.h"
#include "base/note.h"
#include "dist/watch.h"
#include "gen/reward.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Count of the numbers that ranks exchange for each row: the row's rewards,
 * then its count of tokens. */
static size_t
told_width(const struct grpo *g)
{
    return g->o->judge.n + 1;
}

/* The numbers that rank r sent for its row k. */
static double *
told_at(const struct grpo *g, size_t r, size_t k)
{
    return g->told + (r * g->roll.n + k) * told_width(g);
}

/* The exchanged numbers of a row of the batch. */
static const double *
told_of_row(const struct grpo *g, size_t row)
{
    const size_t ranks = g->roll.a->rows / g->roll.n;

    return told_at(g, row % ranks, row / ranks);
}

static void grpo_row(void *ctx, const struct logp_row *r, struct loss_sum *sum);

void
grpo_begin(struct grpo *g, struct student *s, const struct grpo_opt *o)
{
    const size_t rows = g->roll.a->rows, n = g->roll.n;
    const size_t tokens = n * g->roll.a->length;

    g->o = o;
    g->told = xcalloc(rows * told_width(g), sizeof *g->told);
    g->reward = xcalloc(rows, sizeof *g->reward);
    g->silent = xcalloc(o->judge.n, sizeof *g->silent);
    g->advantage = xcalloc(rows, sizeof *g->advantage);
    g->kept = xcalloc(n, sizeof(struct text *));
    g->kept_advantage = xcalloc(n, sizeof *g->kept_advantage);
    g->kept_weight = xcalloc(n, sizeof *g->kept_weight);
    g->old = xcalloc(tokens, sizeof *g->old);
    if (o->policy.beta > 0.0) {
        g->ref = xcalloc(tokens, sizeof *g->ref);
        g->reference =
            reference_open(o->reference != NULL ? o->reference : s->a->model,
                s->t.m.c.V, g->roll.rows.longest, s->pool);
    }
    g->loss = (struct logp_loss){ .row = grpo_row, .ctx = g };
}

void
grpo_release(struct grpo *g)
{
    if (g->iteration > 0)
        rollout_end(&g->roll);
    reference_close(g->reference);
    free(g->told);
    free(g->reward);
    free(g->silent);
    free(g->advantage);
    free(g->kept);
    free(g->kept_advantage);
    free(g->kept_weight);
    free(g->old);
    free(g->ref);
}

size_t
grpo_bytes(const struct grpo *g)
{
    return rollout_bytes(&g->roll) +
        2 * g->roll.n * g->roll.a->length * sizeof(float) +
        (g->reference != NULL ? reference_bytes(g->reference) : 0);
}

/* ---- rewards ---- */

/* Let the programs judge this rank's texts. */
static int
judge_texts(struct grpo *g, size_t rank, struct err *e)
{
    const size_t n = g->roll.n, judges = g->o->judge.n;
    double *reward = xreallocarray(NULL, n, sizeof *reward);
    struct buf lines = { 0 };
    int r = 0;

    for (size_t k = 0; k < n; k++) {
        const struct text *t = &g->roll.text[k];

        reward_line(&lines, t->prompt->record, t->bytes.p, t->bytes.n);
        told_at(g, rank, k)[judges] = (double)(t->ids.n - t->start);
    }
    watch_busy(1);
    for (size_t i = 0; i < judges && r == 0; i++) {
        r = reward_run(g->o->judge.v[i], &lines, n, g->o->seconds, reward, e);
        for (size_t k = 0; k < n && r == 0; k++)
            told_at(g, rank, k)[i] = reward[k];
    }
    watch_busy(-1);
    buf_release(&lines);
    free(reward);
    return r;
}

/* Exchange rewards and numbers of tokens with the other ranks. */
static void
share_rewards(struct grpo *g, const struct student *s)
{
    const size_t ranks = s->ranks.n;
    size_t *at = xcalloc(ranks + 1, sizeof *at);

    for (size_t r = 0; r <= ranks; r++)
        at[r] = r * g->roll.n * told_width(g);
    dist_all_gather(&s->ranks, g->told, sizeof *g->told, at);
    free(at);
}

/* If there are several reward programs, print a note of each that writes null
 * for all texts of this batch and did not for the batch before. */
static void
note_silent(struct grpo *g, const struct student *s)
{
    const size_t rows = g->roll.a->rows;

    for (size_t i = 0; g->o->judge.n > 1 && i < g->o->judge.n; i++) {
        size_t row = 0;

        while (row < rows && isnan(told_of_row(g, row)[i]))
            row++;
        if (row == rows && !g->silent[i])
            note("step %llu: reward program '%.100s' wrote null for all %zu "
                 "texts",
                (unsigned long long)s->st.step + 1, g->o->judge.v[i], rows);
        g->silent[i] = row == rows;
    }
}

/* The weighted sum of a row's rewards; NAN: it has none. */
static double
row_reward(const struct grpo *g, size_t row)
{
    const double *told = told_of_row(g, row);
    double sum = 0.0;
    int any = 0;

    for (size_t i = 0; i < g->o->judge.n; i++)
        if (!isnan(told[i])) {
            sum += g->o->weight[i] * told[i];
            any = 1;
        }
    return any ? sum : NAN;
}

/* ---- what is trained on ---- */

/* Is the row's group dropped? */
static int
is_dropped(const struct grpo *g, size_t row)
{
    const size_t n = g->o->group;

    return g->o->drop && policy_equal(g->reward + row / n * n, n);
}

void
grpo_keep(struct grpo *g, const struct student *s)
{
    const size_t rows = g->roll.a->rows;
    size_t tokens = 0;

    g->nkept = g->kept_of_all = g->figures.dropped = 0;
    for (size_t row = 0; row < rows; row++)
        if (!is_dropped(g, row)) {
            g->kept_of_all++;
            tokens += (size_t)told_of_row(g, row)[g->o->judge.n];
        }
    g->figures.dropped = (rows - g->kept_of_all) / g->o->group;
    for (size_t k = 0; k < g->roll.n; k++) {
        struct text *t = &g->roll.text[k];
        const size_t row = rollout_row(s, k);

        if (is_dropped(g, row))
            continue;
        g->kept_advantage[g->nkept] = g->advantage[row];
        g->kept_weight[g->nkept] = policy_weight(&g->o->policy, g->kept_of_all,
            tokens, t->ids.n - t->start);
        g->kept[g->nkept++] = t;
    }
    text_rows_fill(&g->roll.rows, g->kept, g->nkept);
}

/* Set the log probabilities that the reference gives to the texts. */
static void
refer_texts(struct grpo *g)
{
    const struct text_rows *r = &g->roll.rows;
    const size_t T = r->rows.T, most = g->roll.a->length;
    float *logp = xreallocarray(NULL, T, sizeof *logp);

    for (size_t k = 0; k < g->nkept && g->reference != NULL; k++) {
        const struct text *t = g->kept[k];
        const struct rows row = { 1, T, r->ids + k * T, r->first + k * T };

        reference_row(g->reference, &row, r->scored + k * T,
            g->roll.a->temperature, logp);
        memcpy(g->ref + k * most, logp + t->start - 1,
            (t->ids.n - t->start) * sizeof *logp);
    }
    free(logp);
}

/* With -v, show the batch's first text. */
static void
show_first(const struct grpo *g, const struct student *s)
{
    const struct text *t = &g->roll.text[0];
    const char *prompt =
        json_string_value(json_object_get(t->prompt->record, "prompt"));

    vnote("step %llu: '%.200s' '%.*s': reward %g, advantage %g",
        (unsigned long long)s->st.step + 1, prompt, (int)t->bytes.n,
        t->bytes.n > 0 ? t->bytes.p : "", g->reward[rollout_row(s, 0)],
        g->advantage[rollout_row(s, 0)]);
}

int
grpo_write(struct grpo *g, struct student *s, struct err *e)
{
    struct rollout *roll = &g->roll;
    const size_t rows = roll->a->rows;
    int r;

    rollout_begin(roll, s, g->o->group);
    r = writer_run(&roll->writer, roll->each, roll->n, e);
    if (r == 0)
        r = judge_texts(g, s->ranks.rank, e);
    if (rank_agree(s, r < 0 ? -1 : 1, e) < 0) {
        rollout_end(roll);
        return -1;
    }
    share_rewards(g, s);
    note_silent(g, s);
    for (size_t row = 0; row < rows; row++)
        g->reward[row] = row_reward(g, row);
    policy_advantages(g->reward, rows / g->o->group, g->o->group,
        (enum policy_scale)g->o->scale, g->advantage, &g->figures.rewards);
    g->figures.written = rollout_sums(roll, s);
    grpo_keep(g, s);
    show_first(g, s);
    refer_texts(g);
    return 0;
}

/* ---- a step ---- */

/* The largest difference between log probabilities in training and
 * generation. */
static double
text_drift(const struct text *t, const float *logp)
{
    const float *written = (const float *)(const void *)t->logp.p;
    double most = 0.0;

    for (size_t i = 0; i < t->ids.n - t->start; i++)
        most = fmax(most, fabs((double)logp[i] - written[i]));
    return most;
}

/* The loss of a text (struct logp_loss). */
static void
grpo_row(void *ctx, const struct logp_row *r, struct loss_sum *sum)
{
    struct grpo *g = ctx;
    const size_t k = r->row, most = g->roll.a->length;
    const struct policy_text t = { .n = r->n,
        .advantage = g->kept_advantage[k],
        .weight = g->kept_weight[k],
        .logp = r->logp,
        .old = g->iteration > 0 ? g->old + k * most : NULL,
        .ref = g->ref != NULL ? g->ref + k * most : NULL };
    struct policy_sum own = { .texts = 0 };

    policy_loss(&g->o->policy, &t, &own, r->dlogp);
    if (g->iteration == 0) {
        memcpy(g->old + k * most, r->logp, r->n * sizeof *g->old);
        g->figures.drift =
            fmax(g->figures.drift, text_drift(g->kept[k], r->logp));
    }
    g->figures.low_min = fmin(g->figures.low_min, own.low_min);
    g->figures.high_max = fmax(g->figures.high_max, own.high_max);
    sum->own[GRPO_LOSS] += own.loss;
    sum->own[GRPO_KL] += own.kl;
    sum->own[GRPO_LOW] += own.low;
    sum->own[GRPO_HIGH] += own.high;
    sum->own[GRPO_TOKENS] += (double)own.tokens;
    for (size_t i = 0; i < r->n; i++)
        sum->own[GRPO_ENTROPY] += r->entropy[i];
}

/* Take the extremes over all ranks. */
static void
share_extremes(struct grpo *g, const struct student *s)
{
    struct grpo_figures *f = &g->figures;
    double(*all)[3] = xcalloc(s->ranks.n, sizeof *all);

    all[s->ranks.rank][0] = f->low_min;
    all[s->ranks.rank][1] = f->high_max;
    all[s->ranks.rank][2] = f->drift;
    dist_all_gather_one(&s->ranks, all, sizeof *all);
    for (size_t i = 0; i < s->ranks.n; i++) {
        f->low_min = fmin(f->low_min, all[i][0]);
        f->high_max = fmax(f->high_max, all[i][1]);
        f->drift = fmax(f->drift, all[i][2]);
    }
    free(all);
}

void
grpo_step(struct grpo *g, struct student *s, struct loss_sum *sum)
{
    static const struct targets none;
    struct rollout *roll = &g->roll;

    memset(sum, 0, sizeof *sum);
    g->figures.low_min = 1.0;
    g->figures.high_max = 0.0;
    if (g->iteration == 0)
        g->figures.drift = 0.0;
    ranks_add(s->sum, &roll->rows.rows, roll->rows.scored, &none, 0, 1, sum);
    ranks_finish(s->sum, sum);
    share_extremes(g, s);
    if (roll->a->temperature != 1.0)
        g->figures.drift = NAN;
    if (++g->iteration == g->o->iterations) {
        g->iteration = 0;
        rollout_end(roll);
    }
}
