/* Scores candidates; with --halve on few rows first: see candidates.h. */
#include "candidates.h"
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
    order_choice(s->order, &c->conf, s->j->m, &c->choice);
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

/* The sum of the weights of row r's predictions. */
static double
row_weight(const struct search *s, size_t r)
{
    const struct judge *j = s->j;

    return j->c->weight[r] * (double)(j->from[r + 1] - j->from[r]);
}

/* Standard error of the mean objective `sum`, from the objective's spread over
 * rows. */
static double
standard_error(const struct search *s, const struct row_score *row, size_t rows,
    double sum)
{
    double square = 0.0, all = 0.0;
    size_t n = 0;

    for (size_t r = 0; r < rows; r++) {
        const double w = row_weight(s, r);
        const double v = s->j->c->weight[r] * (row[r].kl + row[r].nll);

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
    out.sum = out.nll + out.kl;
    out.se = standard_error(s, row, rows, out.sum);
    return out;
}

/* ---- one round ---- */

static void
log_candidate(struct search *s, struct cand *c, size_t rows, double seconds)
{
    struct trial t = {
        .method = s->method,
        .kind = c->kind,
        .conf = c->conf,
        .choice = c->choice,
        .key = choice_key(&c->choice),
        .tokens = s->j->from[rows],
        .score = c->score,
        .seconds = seconds,
    };

    cost_of(&s->k, &c->conf, &t.cost);
    c->trial = search_log_add(s->log, &t);
    progress_at((double)s->log->n, NULL);
}

/* Score c on the first `rows` rows, or take the scores from the log. */
static void
score_candidate(struct search *s, struct cand *c, size_t rows)
{
    double seconds;

    s->spent += (double)(rows - c->paid) / (double)s->j->c->R;
    c->paid = rows;
    if (!search_log_get(s->log, choice_key(&c->choice), s->j->from[rows],
            &c->score, &seconds)) {
        const double start = clock_now();

        judge_rows(s->j, &c->choice, c->rows, rows, c->row + c->rows);
        c->rows = rows;
        c->score = score_rows(s, c->row, rows);
        seconds = clock_now() - start;
    }
    log_candidate(s, c, rows, seconds);
}

static int
is_better(const struct cand *a, const struct cand *b)
{
    return a->score.sum < b->score.sum;
}

/* Keep the better half of list [n], indices in c, without changing their order;
 * of equals keep the first.  Returns the new length. */
static size_t
halve_list(const struct cand *c, size_t *list, size_t n)
{
    const size_t keep = (n + 1) / 2;
    size_t kept = 0;
    char *stays = xcalloc(n, 1);

    for (size_t i = 0; i < n; i++) {
        size_t before = 0;

        for (size_t k = 0; k < n; k++)
            before += is_better(&c[list[k]], &c[list[i]]) ||
                (!is_better(&c[list[i]], &c[list[k]]) && k < i);
        stays[i] = before < keep;
    }
    for (size_t i = 0; i < n; i++)
        if (stays[i])
            list[kept++] = list[i];
    free(stays);
    return kept;
}

size_t
cand_score_all(struct search *s, struct cand *c, size_t n)
{
    const size_t R = s->j->c->R;
    size_t *list = xcalloc(n, sizeof(*list)), left = n, best;

    for (size_t i = 0; i < n; i++)
        list[i] = i;
    for (size_t part = 4; s->halve && part > 1 && left > 1; part /= 2) {
        const size_t rows = (R + part - 1) / part;

        if (rows == R || s->j->from[rows] == 0)
            continue;
        for (size_t i = 0; i < left; i++)
            score_candidate(s, &c[list[i]], rows);
        left = halve_list(c, list, left);
    }
    for (size_t i = 0; i < left; i++)
        score_candidate(s, &c[list[i]], R);
    best = list[0];
    for (size_t i = 1; i < left; i++)
        if (is_better(&c[list[i]], &c[best]))
            best = list[i];
    for (size_t i = 0; i < left; i++)
        c[list[i]].full = 1;
    free(list);
    return best;
}

void
cand_known(struct search *s, struct cand *c, const struct score *score,
    double seconds)
{
    c->score = *score;
    c->full = 1;
    log_candidate(s, c, s->j->c->R, seconds);
}

void
cand_keep_best(struct search *s, const struct cand *c)
{
    if (s->best == SIZE_MAX || c->score.sum < s->log->t[s->best].score.sum)
        s->best = c->trial;
}
