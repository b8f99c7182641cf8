/* Candidates are scored: on few rows first, in processes; see search.h. */
#include "search.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cli/die.h"
#include "cli/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void
cand_init(struct cand *c, const struct search *s, const char *kind,
    struct conf *conf)
{
    memset(c, 0, sizeof(*c));
    c->kind = kind;
    c->conf = *conf;
    memset(conf, 0, sizeof(*conf));
    conf_choice(&c->conf, s->j->m, s->rank, &c->choice);
    c->trial = SIZE_MAX;
    c->row = xcalloc(s->j->c->R, sizeof(*c->row));
}

void
cand_release(struct cand *c)
{
    conf_release(&c->conf);
    choice_release(&c->choice);
    free(c->row);
    memset(c, 0, sizeof(*c));
}

/* The weight of all of a row's predictions. */
static double
row_weight(const struct search *s, size_t r)
{
    const struct judge *j = s->j;

    return j->c->weight[r] * (double)(j->from[r + 1] - j->from[r]);
}

/* Of the mean `sum`: rows are what varies, not tokens. */
static double
standard_error(const struct search *s, const struct row_score *row, size_t rows,
    double sum)
{
    double square = 0.0, all = 0.0;
    size_t n = 0;

    for (size_t r = 0; r < rows; r++) {
        const double w = row_weight(s, r);
        const double v =
            s->j->c->weight[r] * (row[r].kl + s->loss_weight * row[r].nll);

        if (!(w > 0.0))
            continue;
        square += (v - w * sum) * (v - w * sum);
        all += w;
        n++;
    }
    return n > 1 ? sqrt(square * (double)n / (double)(n - 1)) / all : 0.0;
}

struct score
score_rows(const struct search *s, const struct row_score *row, size_t rows)
{
    struct score out = { 0 };
    double all = 0.0;

    for (size_t r = 0; r < rows; r++) {
        out.nll += s->j->c->weight[r] * row[r].nll;
        out.kl += s->j->c->weight[r] * row[r].kl;
        all += row_weight(s, r);
    }
    out.nll /= all;
    out.kl /= all;
    if (!isfinite(out.nll) || !isfinite(out.kl))
        die(EX_NUM, "%s: its loss on the calibration data is not finite",
            s->j->m->path);
    out.sum = s->loss_weight * out.nll + out.kl;
    out.se = standard_error(s, row, rows, out.sum);
    return out;
}

/* ---- one round ---- */

struct round {
    struct search *s;
    struct cand *c;
    size_t *item, n; /* those to be scored */
    size_t rows;     /* up to here */
};

static void
begin(void *ctx, size_t jobs)
{
    struct round *r = ctx;
    const size_t n = pool_size(r->s->j->pool) / jobs;

    judge_forked(r->s->j, n > 0 ? n : 1);
}

/* The rows of a candidate that are missing, and the time they took. */
static void
score_one(void *ctx, size_t item, double *out)
{
    struct round *r = ctx;
    struct cand *c = &r->c[r->item[item]];
    const double start = clock_now();

    judge_rows(r->s->j, &c->choice, c->rows, r->rows, c->row + c->rows);
    for (size_t i = c->rows; i < r->rows; i++) {
        *out++ = c->row[i].nll;
        *out++ = c->row[i].kl;
    }
    *out = clock_now() - start;
}

static void
enter(struct search *s, struct cand *c, size_t rows, double seconds)
{
    struct trial t = {
        .method = s->method,
        .kind = c->kind,
        .conf = c->conf,
        .choice = c->choice,
        .key = choice_key(&c->choice),
        .rows = rows,
        .tokens = s->j->from[rows],
        .score = c->score,
        .seconds = seconds,
    };

    cost_of(&s->k, &c->conf, &t.cost);
    c->trial = trials_add(s->log, &t);
    progress_at((double)s->log->n, NULL);
}

static void
got(void *ctx, size_t item, const double *out)
{
    struct round *r = ctx;
    struct cand *c = &r->c[r->item[item]];
    const double *p = out;

    for (size_t i = c->rows; i < r->rows; i++) {
        c->row[i].nll = *p++;
        c->row[i].kl = *p++;
    }
    c->rows = r->rows;
    c->score = score_rows(r->s, c->row, r->rows);
    enter(r->s, c, r->rows, *p);
}

/* Score those n of c in `list` on the first `rows` rows: taken from the log as
 * far as it has them. */
static void
one_round(struct search *s, struct cand *c, const size_t *list, size_t n,
    size_t rows)
{
    struct round r = { s, c, xcalloc(n, sizeof(size_t)), 0, rows };
    struct jobs j = { s->jobs, 2 * rows + 1, begin, score_one, got, &r };
    double seconds;

    for (size_t i = 0; i < n; i++) {
        struct cand *k = &c[list[i]];
        const size_t tokens = s->j->from[rows];

        s->spent += (double)(rows - k->paid) / (double)s->j->c->R;
        k->paid = rows;
        if (trials_find(s->log, choice_key(&k->choice), tokens, &k->score,
                &seconds))
            enter(s, k, rows, seconds);
        else
            r.item[r.n++] = list[i];
    }
    jobs_run(&j, r.n);
    free(r.item);
}

static int
better(const struct cand *a, const struct cand *b)
{
    return a->score.sum < b->score.sum;
}

/* Let the best half of n stay in the list, in its order; of equals the first
 * ones. */
static size_t
halve(const struct cand *c, size_t *list, size_t n)
{
    const size_t keep = (n + 1) / 2;
    size_t kept = 0;
    char *stays = xcalloc(n, 1);

    for (size_t i = 0; i < n; i++) {
        size_t before = 0;

        for (size_t k = 0; k < n; k++)
            before += better(&c[list[k]], &c[list[i]]) ||
                (!better(&c[list[i]], &c[list[k]]) && k < i);
        stays[i] = before < keep;
    }
    for (size_t i = 0; i < n; i++)
        if (stays[i])
            list[kept++] = list[i];
    free(stays);
    return kept;
}

size_t
try_all(struct search *s, struct cand *c, size_t n)
{
    const size_t R = s->j->c->R;
    size_t *list = xcalloc(n, sizeof(*list)), left = n, best;

    for (size_t i = 0; i < n; i++)
        list[i] = i;
    for (size_t part = 4; s->halve && part > 1 && left > 1; part /= 2) {
        const size_t rows = (R + part - 1) / part;

        if (rows == R || s->j->from[rows] == 0)
            continue;
        one_round(s, c, list, left, rows);
        left = halve(c, list, left);
    }
    one_round(s, c, list, left, R);
    best = list[0];
    for (size_t i = 1; i < left; i++)
        if (better(&c[list[i]], &c[best]))
            best = list[i];
    for (size_t i = 0; i < left; i++)
        c[list[i]].full = 1;
    free(list);
    return best;
}

void
try_known(struct search *s, struct cand *c, const struct score *score,
    double seconds)
{
    c->score = *score;
    c->full = 1;
    enter(s, c, s->j->c->R, seconds);
}

void
try_best(struct search *s, const struct cand *c)
{
    if (s->best == SIZE_MAX || c->score.sum < s->log->t[s->best].score.sum)
        s->best = c->trial;
}
